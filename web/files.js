// Files of the reader's own: saved from the page, and read to be sent.

/** Save a text, or bytes in base64 where the type is not a text's, as a file. */
export function saveFile(content, type, name) {
  const data = type.startsWith("text/") ? content : Uint8Array.from(atob(content), (sign) => sign.charCodeAt(0));
  const url = URL.createObjectURL(new Blob([data], { type }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000); // after the browser has begun to read it
}

/** Return the content of a file in base64. */
export const encodeBase64 = (file) =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(new Error("the browser could not read the file"));
    reader.readAsDataURL(file);
  });
