// What our pages never make. Elements of ours that load something load it from /rag/static/, or are a picture as data.
(document) => {
  const found = [...(document.defaultView.__caught ?? ["the page went elsewhere"])];
  const foreign = "iframe,frame,object,embed,base,audio,video,source,track,math,marquee,template,applet,style," +
    "animate,set,discard,foreignObject,feImage,image,use,noembed,noframes,xmp,listing,dialog[onclose],meta[http-equiv]";
  for (const element of document.querySelectorAll(foreign)) found.push(`<${element.localName}>`);
  const loads = "script,link,img";
  for (const element of document.querySelectorAll(loads)) {
    const from = element.getAttribute("src") ?? element.getAttribute("href") ?? "";
    if (!/^(\/rag\/static\/[\w./-]+$|data:image\/png;base64,|blob:)/.test(from)) found.push(`<${element.localName} ${from}>`);
  }
  for (const element of document.querySelectorAll("*")) {
    for (const { name, value } of element.attributes) {
      if (/^on/i.test(name) || /^(srcdoc|background|ping)$/i.test(name)) found.push(`${name}=${value}`);
      if (/^style$/i.test(name) && /url|expression|image-set/i.test(value)) found.push(`style=${value}`);
      if (!/^(href|xlink:href|action|formaction)$/i.test(name)) continue;
      const to = URL.parse(value, "http://127.0.0.1/");
      const sends = /action$/i.test(name) && to?.hostname !== "127.0.0.1";
      if (sends || (to && !/^https?:$/.test(to.protocol))) found.push(`${name}=${value}`);
    }
  }
  if ("innerHTML" in {} || "onerror" in {}) found.push("a prototype was changed");
  return found;
}
