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

const SLOW = 200; // milliseconds after which an answer counts as slow: below this people notice no wait
let waiting = 0;
let slow = 0;
/** @type {(busy: boolean) => void} */
let tellBusy = () => {};

/** Call a function with whether people wait for an answer. @param {(busy: boolean) => void} call */
export function onBusy(call) {
  tellBusy = call;
}

// What an answer gives; while it is slow to come, the page says so.
async function awaited(answer) {
  waiting++;
  if (waiting === 1) slow = setTimeout(() => tellBusy(true), SLOW);
  try {
    return await answer;
  } finally {
    waiting--;
    if (!waiting) {
      clearTimeout(slow);
      tellBusy(false);
    }
  }
}

const query = (parameters) => (parameters ? `?${new URLSearchParams(parameters)}` : "");

const asked = async (name, parameters) => checked(await fetch(`api/${name}${query(parameters)}`));

const read = async (name, parameters) => (await asked(name, parameters)).json();

/** Bytes for later: nobody waits for them. */
export const bytesAhead = async (name, parameters) => (await asked(name, parameters)).arrayBuffer();

export const get = (name, parameters = undefined) => awaited(read(name, parameters));

export const bytes = (name, parameters = undefined) => awaited(bytesAhead(name, parameters));

const posted = async (name, body) =>
  checked(
    await fetch(`api/${name}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    }),
  );

export const post = (name, body = {}) => awaited(posted(name, body).then((answer) => answer.json()));

export const postForBytes = (name, body) => awaited(posted(name, body).then((answer) => answer.arrayBuffer()));

export function listen(receive, lost) {
  const source = new EventSource("api/events");
  source.onmessage = (message) => receive(JSON.parse(message.data));
  source.onerror = () => lost();
  addEventListener("pagehide", () => source.close());
}
