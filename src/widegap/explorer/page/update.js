// What an update of the model changed: a sentence for each cluster, which makes it stand out on the map when pressed.

import { button, element, make } from "./dom.js";
import { swatch } from "./palette.js";
import { on, store, tell } from "./store.js";

export function start() {
  on("state", show);
  on("marked", press);
}

function show() {
  const { rows_before: n, unit, update } = store.state;
  element("beforetext").textContent = `${n.toLocaleString("en")} ${unit}s from before the update, in grey`;
  element("update").hidden = !update;
  if (!update) return;
  element("updatewords").textContent = update.words;
  element("updated").replaceChildren(...update.clusters.map(sentence));
  element("drift").textContent = update.drift.join(" ");
  press();
}

function sentence({ key, kind, text }) {
  const node = make("li", "", { "data-kind": kind });
  const mark = button("", { class: "name", "data-key": key, title: "Show it alone on the map" }, () => {
    store.marked = store.marked === key ? null : key;
    tell("marked");
  });
  mark.append(swatch(key), make("span", text));
  node.append(mark);
  return node;
}

function press() {
  for (const node of element("updated").querySelectorAll("button"))
    node.setAttribute("aria-pressed", String(Number(node.dataset.key) === store.marked));
}
