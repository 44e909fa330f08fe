// One key for every action; none of them works while something is typed.

import { mergeTicked } from "./clusters.js";
import { useTool, zoomStep } from "./map.js";
import { answer } from "./questions.js";
import { say } from "./selection.js";
import { act, select } from "./store.js";

const element = (id) => document.getElementById(id);
// What each key does, and the button that does the same: its tooltip names the key.
const KEYS = {
  a: ["cluster again", () => element("again").click(), "#again"],
  t: ["selected rows belong together", () => say("together"), "[data-act=together]"],
  d: ["selected rows do not belong together", () => say("apart"), "[data-act=apart]"],
  j: ["selected rows are junk", () => say("junk"), "[data-act=junk]"],
  c: ["selected rows are the chosen cluster", () => say("is"), "[data-act=is]"],
  m: ["merge the ticked clusters", mergeTicked, "#merge"],
  y: ["answer yes", () => answer("together")],
  n: ["answer no", () => answer("apart")],
  s: ["skip the question", () => answer("skip")],
  p: ["drag to move the map", () => useTool("pan"), "#pan"],
  l: ["drag to lasso", () => useTool("lasso"), "#lasso"],
  "+": ["zoom in", () => zoomStep("in"), "[data-zoom=in]"],
  "-": ["zoom out", () => zoomStep("out"), "[data-zoom=out]"],
  0: ["show all", () => zoomStep("reset"), "[data-zoom=reset]"],
  "/": ["search", () => element("text").focus()],
  k: ["go to the number of clusters", () => element("k").focus()],
  "?": ["show the keys", () => element("keys").showModal(), "#help"],
  Escape: ["clear the selection", () => select([]), "#unselect"],
};
const MORE = [
  ["Ctrl+Z, Ctrl+Shift+Z", "undo, redo"],
  ["arrows on the map", "move a cross (Shift: farther)"],
  ["Enter on the map", "select and open the row at the cross (Shift: add)"],
  ["b, arrows, Enter on the map", "select a box"],
];

export function start() {
  const list = element("keys").querySelector("dl");
  const lines = [...Object.entries(KEYS).map(([key, [text]]) => [key, text]), ...MORE];
  for (const [key, text] of lines) {
    const term = document.createElement("dt");
    const told = document.createElement("dd");
    term.append(Object.assign(document.createElement("kbd"), { textContent: key }));
    told.textContent = text;
    list.append(term, told);
  }
  for (const [key, [, , button]] of Object.entries(KEYS))
    if (button) document.querySelector(button).title = `Key ${key}`;
  element("help").addEventListener("click", () => element("keys").showModal());
  document.addEventListener("keydown", press);
}

function press(event) {
  const { target } = event;
  if (target.matches("input:not([type=range],[type=checkbox]), select, textarea") || element("keys").open) return;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") {
    event.preventDefault();
    act(event.shiftKey ? "redo" : "undo");
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
  event.preventDefault();
  KEYS[event.key][1]();
}
