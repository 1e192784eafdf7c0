// Everything that the page asks the lab for. Addresses are relative: they stay below the lab's own path.

export class Refusal extends Error {}

async function answer(response) {
  const isJson = (response.headers.get("content-type") || "").startsWith("application/json");
  const content = isJson ? await response.json() : await response.text();
  if (!response.ok) throw new Refusal(content.error || content || response.statusText);
  return content;
}

export const get = async (path) => answer(await fetch(path));

export const post = async (path, content, signal) =>
  answer(
    await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(content),
      signal,
    }),
  );

// A table's bytes; its name travels beside them, because it says what kind of file it is.
export const upload = async (path, file) =>
  answer(
    await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/octet-stream", "X-File-Name": encodeURIComponent(file.name) },
      body: file,
    }),
  );

// Calls `work` once things have been quiet for a while. An answer that is overtaken by the next question is dropped.
export function latest(milliseconds, work, failed) {
  let timer, controller;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      controller?.abort();
      const mine = (controller = new AbortController());
      try {
        await work(mine.signal, ...given);
      } catch (error) {
        if (error.name !== "AbortError") failed(error);
      }
    }, milliseconds);
  };
}
