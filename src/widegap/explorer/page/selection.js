// The selected rows, the corrections that can be made of them, and the row that is open.

import { get } from "./api.js";
import { button, element, field, make, number, sureness } from "./dom.js";
import { host } from "./host.js";
import { swatch } from "./palette.js";
import { act, clusterOf, on, select, store, tell } from "./store.js";

const target = field("target");
let opened = null; // the row that is open

export function start() {
  on("selection", show);
  on("state", show);
  on("recut", show);
  on("open", open);
  on("state", () => {
    if (opened !== null) open(opened); // its cluster may be another now
  });
  element("unselect").addEventListener("click", () => select([]));
  element("assign").addEventListener("click", () => correct("is"));
}

export async function correct(kind) {
  if (!store.state.supported.includes(kind)) return;
  const rows = [...store.selected].map((i) => store.rows[i]);
  const cluster = target.value === "new" ? "new" : Number(target.value);
  if (await act(kind, kind === "is" ? { rows, cluster } : { rows })) {
    tell("message", `Correction noted for ${rows.length} ${store.state.unit}s. Press Re-cluster to apply it.`);
    select([]);
  }
}

// One button for each correction of selected rows that the model can follow.
function buttons() {
  const focus = host.root.activeElement instanceof HTMLElement ? host.root.activeElement.dataset.act : undefined;
  const made = store.state.buttons.map(({ kind, label, shortcut }) => {
    const node = button(label, { "data-act": kind }, () => correct(kind));
    if (shortcut) node.title = `Key ${shortcut}`;
    node.toggleAttribute("disabled", !store.selected.size);
    return node;
  });
  element("buttons").replaceChildren(...made);
  if (focus) made.find((node) => node.dataset.act === focus)?.focus();
}

function show() {
  const n = store.selected.size;
  element("selected").textContent = n ? `${n.toLocaleString("en")} selected` : "Nothing selected";
  buttons();
  target.closest(".group").hidden = !store.state.supported.includes("is");
  for (const id of ["assign", "unselect"]) field(id).disabled = !n;
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
  opened = row;
  const found = await get("row", { row });
  if (opened !== row) return;
  const table = make("table");
  table.append(make("caption", found.title));
  for (const [name, value] of found.cells) {
    const line = make("tr");
    const text = typeof value === "number" ? number(value, 6) : (value ?? "–");
    line.append(make("th", name, { scope: "row" }), make("td", text));
    table.append(line);
  }
  const where = make("p", "", { class: "muted" });
  where.append(swatch(found.key), make("span", ` ${clusterOf(found.key).name}${sureness(found.sure)}`));
  box.replaceChildren(where, table);
  box.hidden = false;
}
