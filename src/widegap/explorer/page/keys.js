// One key for every action; none of them works while something is typed.

import { mergeTicked } from "./clusters.js";
import { element, make } from "./dom.js";
import { host } from "./host.js";
import { useTool, zoomStep } from "./map.js";
import { answer } from "./questions.js";
import { correct } from "./selection.js";
import { act, on, select, store } from "./store.js";

/**
 * What each key does, and the button that does the same: its tooltip names the key.
 * @type {Record<string, [string, () => unknown, string?]>}
 */
const KEYS = {
  a: ["re-cluster", () => element("again").click(), "#again"],
  c: ["assign the selected rows to the chosen cluster", () => correct("is"), "#assign"],
  m: ["merge the ticked clusters", mergeTicked, "#merge"],
  y: ["answer yes", () => answer("together")],
  n: ["answer no", () => answer("apart")],
  s: ["skip the question", () => answer("skip")],
  p: ["drag moves the map", () => useTool("pan"), "#pan"],
  l: ["drag draws a lasso", () => useTool("lasso"), "#lasso"],
  "+": ["zoom in", () => zoomStep("in"), "[data-zoom=in]"],
  "-": ["zoom out", () => zoomStep("out"), "[data-zoom=out]"],
  0: ["show all", () => zoomStep("reset"), "[data-zoom=reset]"],
  "/": ["search", () => element("text").focus()],
  k: ["go to the number of clusters", () => element("k").focus()],
  "?": ["show the keys", showKeys, "#help"],
  Escape: ["clear the selection", () => select([]), "#unselect"],
};
const MORE = [
  ["Ctrl+Z, Ctrl+Shift+Z", "undo, redo"],
  ["arrows on the map", "move the cross (Shift: farther)"],
  ["Enter on the map", "select and open the row at the cross (Shift: add)"],
  ["b, arrows, Enter on the map", "select a box"],
];

const dialog = /** @type {HTMLDialogElement} */ (element("keys"));

export function start() {
  for (const [key, [, , selector]] of Object.entries(KEYS))
    if (selector) host.root.querySelector(selector).setAttribute("title", `Key ${key}`);
  element("help").addEventListener("click", showKeys);
  host.root.addEventListener("keydown", press);
  on("state", list);
}

function showKeys() {
  dialog.showModal();
}

// The corrections name their own keys.
function list() {
  const corrections = store.state.buttons.map(({ label, shortcut }) => [shortcut, `selected rows: ${label.toLowerCase()}`]);
  const lines = [...corrections, ...Object.entries(KEYS).map(([key, [text]]) => [key, text]), ...MORE];
  const nodes = lines.flatMap(([key, text]) => {
    const term = make("dt");
    term.append(make("kbd", key));
    return [term, make("dd", text)];
  });
  dialog.querySelector("dl").replaceChildren(...nodes);
}

function press(event) {
  const { target } = event;
  if (target.matches("input:not([type=range],[type=checkbox]), select, textarea") || host.root.querySelector("dialog[open]")) return;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") {
    event.preventDefault();
    act(event.shiftKey ? "redo" : "undo");
    return;
  }
  const made = store.state.buttons.find(({ shortcut }) => shortcut === event.key);
  if (event.ctrlKey || event.metaKey || event.altKey || !(made || event.key in KEYS)) return;
  event.preventDefault();
  if (made) correct(made.kind);
  else KEYS[event.key][1]();
}
