// The report's profile: means and shares in the columns that tell clusters apart, shaded by how much they differ.

import { get } from "./api.js";
import { element, make, number } from "./dom.js";
import { swatch } from "./palette.js";
import { clusterOf, on, store } from "./store.js";

const box = element("profile");
const details = /** @type {HTMLDetailsElement} */ (element("profilebox"));

export function start() {
  on("state", show);
  on("recut", show);
  details.addEventListener("toggle", show);
}

async function show() {
  details.hidden = !store.state.columns.length;
  if (!details.open || details.hidden) return;
  const { k } = store;
  const found = await get("profile", { k });
  if (k !== store.k) return;
  const table = make("table");
  const head = make("tr");
  head.append(make("th", "column", { scope: "col" }), make("th", "all", { scope: "col", class: "num" }));
  for (const key of found.keys) {
    const cell = make("th", "", { scope: "col", class: "num" });
    cell.append(swatch(key), make("bdi", clusterOf(key).name));
    head.append(cell);
  }
  table.append(head);
  for (const { feature, text, cells } of found.lines) {
    const line = make("tr");
    line.append(make("th", feature, { scope: "row" }), make("td", text, { class: "num" }));
    for (const { text: mean, difference, mark } of cells) {
      const cell = make("td", `${mean}${["▼", "", "▲"][mark + 1]}`, { class: "num" });
      const strength = Math.min(1, Math.abs(difference) / 2);
      const tint = difference > 0 ? "var(--more)" : "var(--less)";
      cell.style.background = `color-mix(in srgb, ${tint} ${Math.round(60 * strength)}%, transparent)`;
      cell.title = `${number(difference, 2)} standard deviations from the rest`;
      line.append(cell);
    }
    table.append(line);
  }
  box.replaceChildren(table);
}
