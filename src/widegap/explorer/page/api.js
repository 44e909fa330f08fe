// Requests to the server; the token is part of the page's own address, so relative addresses carry it.

async function checked(answer) {
  if (answer.ok) return answer;
  let found = {};
  try {
    found = await answer.json();
  } catch {
    found = { error: `The server answered ${answer.status}.` };
  }
  throw Object.assign(new Error(found.error), { changed: found.changed });
}

const query = (parameters) => (parameters ? `?${new URLSearchParams(parameters)}` : "");

export const get = async (name, parameters) => (await checked(await fetch(`api/${name}${query(parameters)}`))).json();

export const bytes = async (name, parameters) => (await checked(await fetch(`api/${name}${query(parameters)}`))).arrayBuffer();

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

export function listen(receive, lost) {
  const source = new EventSource("api/events");
  source.onmessage = (message) => receive(JSON.parse(message.data));
  source.onerror = () => lost();
  addEventListener("pagehide", () => source.close());
}
