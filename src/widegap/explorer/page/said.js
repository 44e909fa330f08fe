// What was said, with a way to take each back, and what the last fit changed.

import { make } from "./clusters.js";
import { swatch } from "./palette.js";
import { act, clusterOf, on, select, store, tell } from "./store.js";

const element = (id) => document.getElementById(id);
export function start() {
  on("state", () => {
    statements();
    changes();
  });
}

function statements() {
  const nodes = store.state.statements.map((said) => {
    const node = make("li", `${said.words} `);
    const drop = make("button", "take back", { type: "button", "aria-label": `Take back: ${said.words}` });
    drop.addEventListener("click", () => act("drop", { statement: said.number }));
    node.append(drop);
    return node;
  });
  const none = make("li", "Nothing yet. Select rows on the map and say what you know about them.", { class: "muted" });
  element("anew").hidden = !store.state.anew;
  element("statements").replaceChildren(...(nodes.length ? nodes : [none]));
}

function changes() {
  const { moved } = store.state;
  element("changes").hidden = !moved;
  if (!moved) return;
  const head = make("p", `${moved.total.toLocaleString("en")} ${store.state.unit}s moved. `);
  const label = make("label");
  const box = make("input", "", { type: "checkbox", id: "showmoved" });
  box.checked = element("showmoved")?.checked ?? true;
  box.addEventListener("change", () => tell("hidden"));
  label.append(box, " mark them on the map");
  head.append(label);
  const list = make("ul");
  for (const move of moved.moves) {
    const node = make("li", "");
    const press = make("button", "", { type: "button", class: "name" });
    press.append(swatch(move.from), ` ${clusterOf(move.from).name} → `, swatch(move.to), ` ${clusterOf(move.to).name}`);
    press.addEventListener("click", () => selectMoved(move));
    node.append(press, make("span", ` ${move.count}`, { class: "muted" }));
    list.append(node);
  }
  element("moves").replaceChildren(head, list);
  tell("hidden");
}

function selectMoved(move) {
  const found = [];
  store.keys.forEach((key, i) => {
    if (key === move.to && store.moved[i] && (move.count > move.rows.length || move.rows.includes(store.rows[i]))) found.push(i);
  });
  select(found);
}
