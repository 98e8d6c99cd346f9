// Opens the pages of each payload in frames, a few at a time, until something is found; gives what, by payload.
async (look, planted) => {
  const [PATIENT_TURNS, LONGEST_TURNS] = [40, 400]; // of a frame that does not load, as some never do
  const opened = async (name, page) => {
    const frame = Object.assign(document.createElement("iframe"), { name, srcdoc: page });
    let isLoaded = false;
    frame.onload = () => (isLoaded = true);
    document.body.append(frame);
    let found = [];
    for (let turn = 0, looks = 0; turn < LONGEST_TURNS && looks < 3 && !found.length; turn++) {
      await new Promise((done) => setTimeout(done, 50));
      await new Promise(requestAnimationFrame);
      if (!isLoaded && turn < PATIENT_TURNS) continue;
      if (isLoaded) looks++;
      found = frame.contentDocument ? look(frame.contentDocument) : ["the frame went elsewhere"];
    }
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
