// The list of clusters: name, size, how sure, what sets each apart; tick, hide, rename, split.

import { button, element, make, sureness } from "./dom.js";
import { host } from "./host.js";
import { swatch } from "./palette.js";
import { act, on, select, store, tell } from "./store.js";

const list = element("list");
export const ticked = new Set();

export function start() {
  on("state", show);
  on("recut", show);
  element("merge").addEventListener("click", mergeTicked);
}

export async function mergeTicked() {
  if (await act("merge", { clusters: [...ticked] })) ticked.clear();
  show();
}

function apart(cluster) {
  const parts = cluster.apart.slice(0, 3).map((one) =>
    one.difference === undefined
      ? one.feature
      : `${one.feature} ${one.text} (others ${one.rest_text})`,
  );
  return cluster.apart[0]?.difference === undefined
    ? cluster.apart.slice(0, 6).map((one) => one.feature).join(", ")
    : parts.join("; ");
}

function show() {
  if (list.querySelector("form")) return; // a name is being typed
  const active = list.contains(host.root.activeElement) ? host.root.activeElement : null;
  const key = active?.closest("li")?.dataset.key;
  const part = active?.getAttribute("data-part");
  const last = (cluster) => (cluster.key < 0 ? Infinity : cluster.label); // rows without a cluster
  list.replaceChildren(...[...store.clusters].sort((a, b) => last(a) - last(b)).map(item));
  if (key !== undefined) focusPart(key, part);
  element("merge").hidden = !store.state.supported.includes("merge");
}

function focusPart(key, part) {
  /** @type {HTMLElement} */ (list.querySelector(`li[data-key="${key}"] [data-part="${part}"]`))?.focus();
}

function item(cluster) {
  const { key } = cluster;
  const node = make("li", "", { "data-key": key });
  node.classList.toggle("off", store.hidden.has(key));
  const head = make("div", "", { class: "line" });
  if (key >= 0 && store.state.supported.includes("merge")) head.append(tick(cluster));
  const pressed = String(!store.hidden.has(key));
  const name = button("", { "data-part": "name", class: "name", "aria-pressed": pressed }, () => toggle(key));
  name.title = "Show or hide on the map";
  name.append(swatch(key), make("bdi", cluster.name));
  head.append(name, make("span", cluster.size.toLocaleString("en") + sureness(cluster.sure), { class: "muted size" }));
  const more = make("div", "", { class: "more" });
  more.append(button("Select", { "data-part": "select" }, () => selectAll(key)));
  if (key >= 0 && store.state.fitted) {
    more.append(button("Rename", { "data-part": "rename" }, () => rename(node, cluster)));
    if (store.state.supported.includes("split"))
      more.append(button("Split", { "data-part": "split" }, () => act("split", { cluster: key })));
  }
  node.append(head, make("p", apart(cluster), { class: "apart" }), more);
  return node;
}

function tick(cluster) {
  const box = make("input", "", { type: "checkbox", "data-part": "tick", "aria-label": `Tick ${cluster.name}` });
  box.checked = ticked.has(cluster.key);
  box.addEventListener("change", () => (box.checked ? ticked.add(cluster.key) : ticked.delete(cluster.key)));
  return box;
}

function toggle(key) {
  if (!store.hidden.delete(key)) store.hidden.add(key);
  tell("hidden");
  show();
}

function selectAll(key) {
  const found = [];
  store.keys.forEach((one, i) => {
    if (one === key && (!store.found || store.found[i])) found.push(i);
  });
  select(found);
}

function rename(node, cluster) {
  const form = make("form", "", { class: "line" });
  const input = make("input", "", { maxlength: 80, "aria-label": `New name of ${cluster.name}`, "data-part": "field" });
  input.value = cluster.name;
  form.append(input, make("button", "Save"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    form.replaceWith(make("p", "…"));
    if (!(await act("rename", { cluster: cluster.key, name: input.value }))) show();
    focusPart(cluster.key, "rename");
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      form.remove();
      show();
    }
  });
  node.querySelector(".line").replaceWith(form);
  input.focus();
  input.select();
}
