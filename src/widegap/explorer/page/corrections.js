// The corrections, each with a button that removes it, and what the last fit changed.

import { button, element, field, make } from "./dom.js";
import { swatch } from "./palette.js";
import { act, on, select, store, tell } from "./store.js";

export function start() {
  on("state", () => {
    corrections();
    changes();
  });
}

function corrections() {
  const nodes = store.state.corrections.map((one) => {
    const node = make("li", `${one.words} `);
    const remove = () => act("drop", { statement: one.number });
    node.append(button("Remove", { "aria-label": `Remove: ${one.words}` }, remove));
    return node;
  });
  const none = make("li", "None yet. Select rows on the map, then correct them.", { class: "muted" });
  element("anew").hidden = !store.state.anew;
  element("log").replaceChildren(...(nodes.length ? nodes : [none]));
}

function changes() {
  const { moved } = store.state;
  element("changes").hidden = !moved;
  if (!moved) return;
  const head = make("p", `${moved.total.toLocaleString("en")} ${store.state.unit}s moved. `);
  const label = make("label");
  const box = make("input", "", { type: "checkbox", id: "showmoved" });
  box.checked = field("showmoved")?.checked ?? true;
  box.addEventListener("change", () => tell("hidden"));
  label.append(box, " Mark them on the map");
  head.append(label);
  const list = make("ul");
  for (const move of moved.moves) {
    const node = make("li", "");
    const press = button("", { class: "name" }, () => selectMoved(move));
    press.append(swatch(move.from), ` ${move.names[0]} → `, swatch(move.to), ` ${move.names[1]}`);
    node.append(press, make("span", ` ${move.count}`, { class: "muted" }));
    list.append(node);
  }
  element("moves").replaceChildren(head, list);
  tell("hidden");
}

function selectMoved(move) {
  const found = [];
  store.keys.forEach((key, i) => {
    const listed = move.count > move.rows.length || move.rows.includes(store.rows[i]);
    if (key === move.to && store.moved[i] && listed) found.push(i);
  });
  select(found);
}
