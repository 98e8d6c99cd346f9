// Opens the pages of each payload in frames, a few at a time, until something is found; gives what, by payload.
async (look, planted) => {
  const opened = async (name, page) => {
    const frame = Object.assign(document.createElement("iframe"), { name, srcdoc: page });
    const loaded = new Promise((done) => { frame.onload = done; setTimeout(done, 2000); }); // some never load
    document.body.append(frame);
    await loaded;
    await new Promise(requestAnimationFrame);
    const found = frame.contentDocument ? look(frame.contentDocument) : ["the frame went elsewhere"];
    frame.remove();
    return found;
  };
  const found = planted.map(() => []);
  const rest = [...planted.entries()];
  const work = async () => {
    for (let next; (next = rest.shift()); )
      for (const page of next[1]) if (!found[next[0]].length) found[next[0]] = await opened(String(next[0]), page);
  };
  await Promise.all(Array.from({ length: 30 }, work));
  return found;
}
