// Before anything of a page runs: what a payload would call, set or be stopped at is noted.
(() => {
  const caught = (window.__caught = []);
  for (const name of ["alert", "confirm", "prompt", "print"]) window[name] = () => caught.push(`${name} was called`);
  Object.defineProperty(window, "caught", { set: () => caught.push("a global was set") });
  document.addEventListener("securitypolicyviolation", (event) =>
    caught.push(`the policy stopped ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
})()
