// What runs here: the versions to name in a report of an error.

import { get } from "./api.js";
import { element, make } from "./dom.js";

const dialog = /** @type {HTMLDialogElement} */ (element("about"));

export function start() {
  element("aboutopen").addEventListener("click", show);
}

async function show() {
  const versions = await get("about");
  const nodes = Object.entries(versions).flatMap(([name, version]) => [make("dt", name), make("dd", version)]);
  dialog.querySelector("dl").replaceChildren(...nodes);
  dialog.showModal();
}
