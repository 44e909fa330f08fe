// The channel of a page that has a server; the token is part of its own address, so relative addresses carry it.

async function answered(answer) {
  if (answer.ok) {
    const isJson = answer.headers.get("content-type") === "application/json";
    return isJson ? answer.json() : answer.arrayBuffer();
  }
  let found = {};
  try {
    found = await answer.json();
  } catch {
    found = { error: `The server answered ${answer.status}.` };
  }
  throw Object.assign(new Error(found.error), { changed: found.changed });
}

const query = (parameters) => (parameters ? `?${new URLSearchParams(parameters)}` : "");

/** @type {import("./host.js").Channel} */
export const http = {
  waits: "Loading …",
  lost: "The server is not answering. Your work is saved; start it again with --resume.",
  get: async (name, parameters) => answered(await fetch(`api/${name}${query(parameters)}`)),
  post: async (name, body) =>
    answered(
      await fetch(`api/${name}`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
      }),
    ),
  listen(receive, lost) {
    const source = new EventSource("api/events");
    source.onmessage = (message) => receive(JSON.parse(message.data));
    source.onerror = () => lost();
    addEventListener("pagehide", () => source.close());
  },
};
