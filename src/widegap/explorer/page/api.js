// Requests to the server; the token is part of the page's own address, so relative addresses carry it.

async function checked(answer) {
  if (answer.ok) return answer;
  let told = {};
  try {
    told = await answer.json();
  } catch {
    told = { error: `The server answered ${answer.status}.` };
  }
  throw Object.assign(new Error(told.error), { changed: told.changed });
}

const query = (given) => (given ? `?${new URLSearchParams(given)}` : "");

export const get = async (name, given) => (await checked(await fetch(`api/${name}${query(given)}`))).json();

export const bytes = async (name, given) => (await checked(await fetch(`api/${name}${query(given)}`))).arrayBuffer();

const posted = async (name, body) =>
  checked(
    await fetch(`api/${name}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    }),
  );

export const post = async (name, body = {}) => (await posted(name, body)).json();

export const postForBytes = async (name, body) => (await posted(name, body)).arrayBuffer();

export function listen(hear, lost) {
  const source = new EventSource("api/events");
  source.onmessage = (message) => hear(JSON.parse(message.data));
  source.onerror = () => lost();
  addEventListener("pagehide", () => source.close());
}
