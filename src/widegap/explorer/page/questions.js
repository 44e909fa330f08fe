// Questions whose answers help most: two rows, and whether they belong together.

import { get } from "./api.js";
import { button, element, make } from "./dom.js";
import { swatch } from "./palette.js";
import { act, on, store } from "./store.js";

const box = element("question");
let waiting = [];
let fit = null;

export function start() {
  on("state", async () => {
    const fresh = fit !== store.state.fit;
    fit = store.state.fit;
    element("questions").hidden = !store.state.supported.includes("together");
    if (fresh || !waiting.length) await ask();
    show();
  });
}

async function ask() {
  if (store.state.supported.includes("together") && store.state.fitted) waiting = await get("questions");
}

export async function answer(kind) {
  const asked = waiting[0];
  if (!asked) return;
  waiting = waiting.slice(1);
  const done = kind === "skip" ? act("skip", { rows: asked.rows }) : act(kind, { rows: asked.rows, asked: true });
  if (!(await done)) await ask();
  show();
}

function show() {
  const { surer } = store.state;
  const percent = (value) => `${Math.round(1000 * value) / 10} %`;
  const gain = surer.first === null ? "" : ` Sure: ${percent(surer.first)} at first, ${percent(surer.now)} now.`;
  const counter = make("p", `${surer.answers} answered.${gain}`, { class: "muted", id: "counter" });
  if (!waiting.length) {
    box.replaceChildren(make("p", "No questions right now.", { class: "muted" }), counter);
    return;
  }
  const pair = make("div", "", { class: "pair" });
  for (const row of waiting[0].shown) {
    const card = make("div", "", { class: "card" });
    const title = make("b", "");
    title.append(swatch(row.key), ` ${row.title}`);
    card.append(title, make("p", row.text));
    pair.append(card);
  }
  const actions = make("div", "", { class: "actions", role: "group", "aria-label": "Answer" });
  for (const [kind, text] of [["together", "Yes (y)"], ["apart", "No (n)"], ["skip", "Skip (s)"]]) {
    actions.append(button(text, { "data-answer": kind }, () => answer(kind)));
  }
  box.replaceChildren(make("p", "Do these two belong together?"), pair, actions, counter);
}
