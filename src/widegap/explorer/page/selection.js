// The selected rows, what can be said of them, and the row that is open.

import { get } from "./api.js";
import { make, number } from "./clusters.js";
import { swatch } from "./palette.js";
import { act, clusterOf, on, select, store, tell } from "./store.js";

const element = (id) => document.getElementById(id);
const target = element("target");

export function start() {
  on("selection", show);
  on("state", show);
  on("recut", show);
  on("open", open);
  element("unselect").addEventListener("click", () => select([]));
  for (const button of document.querySelectorAll("[data-act]"))
    button.addEventListener("click", () => say(button.dataset.act));
}

export async function say(kind) {
  if (!store.state.supported.includes(kind)) return;
  const data = { rows: [...store.selected].map((i) => store.rows[i]) };
  if (kind === "is") data.cluster = target.value === "new" ? "new" : Number(target.value);
  if (await act(kind, data)) {
    tell("message", `Noted for ${data.rows.length} ${store.state.unit}s. Press Again to cluster with it.`);
    select([]);
  }
}

function show() {
  const n = store.selected.size;
  element("selected").textContent = n ? `${n.toLocaleString("en")} selected` : "Nothing selected";
  for (const button of document.querySelectorAll("[data-act]")) {
    button.hidden = !store.state.supported.includes(button.dataset.act);
    button.disabled = !n;
  }
  target.closest(".group").hidden = !store.state.supported.includes("is");
  element("unselect").disabled = !n;
  const before = target.value;
  const named = store.clusters.filter((cluster) => cluster.key >= 0);
  target.replaceChildren(
    ...named.map((cluster) => make("option", cluster.name, { value: cluster.key })),
    make("option", "a new cluster", { value: "new" }),
  );
  if ([...target.options].some((option) => option.value === before)) target.value = before;
}

async function open(row) {
  const box = element("row");
  const told = await get("row", { row });
  const table = make("table");
  table.append(make("caption", `${told.title}`));
  for (const [name, value] of told.cells) {
    const line = make("tr");
    line.append(make("th", name, { scope: "row" }), make("td", typeof value === "number" ? number(value, 6) : (value ?? "–")));
    table.append(line);
  }
  const where = make("p", "", { class: "muted" });
  const sure = told.sure === null ? "" : ` · ${Math.round(100 * told.sure)} % sure`;
  where.append(swatch(told.key), make("span", ` ${clusterOf(told.key).name}${sure}`));
  box.replaceChildren(where, table);
  box.hidden = false;
}
