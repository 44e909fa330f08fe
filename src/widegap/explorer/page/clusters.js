// The list of clusters: name, size, how sure, what sets each apart; tick, hide, rename, split.

import { swatch } from "./palette.js";
import { act, on, select, store, tell } from "./store.js";

const list = document.getElementById("list");
export const ticked = new Set();

export function make(tag, text = "", attributes = {}) {
  const node = document.createElement(tag);
  node.textContent = text;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

export function number(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  return Math.abs(value) >= 1000
    ? Math.round(value).toLocaleString("en")
    : String(Number(value.toPrecision(digits))).replace("-", "−");
}

export function start() {
  on("state", show);
  on("recut", show);
  document.getElementById("merge").addEventListener("click", mergeTicked);
}

export async function mergeTicked() {
  if (await act("merge", { clusters: [...ticked] })) ticked.clear();
  show();
}

function apart(cluster) {
  const parts = cluster.apart.slice(0, 3).map((one) =>
    one.difference === undefined
      ? one.feature
      : `${one.feature} ${number(one.mean)} (others ${number(one.rest)})`,
  );
  return cluster.apart[0]?.difference === undefined
    ? cluster.apart.slice(0, 6).map((one) => one.feature).join(", ")
    : parts.join("; ");
}

function show() {
  if (list.querySelector("form")) return; // a name is being typed
  const focus = document.activeElement?.closest("#list li")?.dataset.key;
  const part = document.activeElement?.dataset?.part;
  list.replaceChildren(...[...store.clusters].sort((a, b) => (a.key < 0) - (b.key < 0) || a.key - b.key).map(item));
  if (focus !== undefined) list.querySelector(`li[data-key="${focus}"] [data-part="${part}"]`)?.focus();
  document.getElementById("merge").hidden = !store.state.supported.includes("merge");
}

function item(cluster) {
  const { key } = cluster;
  const node = make("li", "", { "data-key": key });
  node.classList.toggle("off", store.hidden.has(key));
  const head = make("div", "", { class: "line" });
  if (key >= 0 && store.state.supported.includes("merge")) head.append(tick(cluster));
  const show = make("button", "", { type: "button", "data-part": "name", class: "name", "aria-pressed": String(!store.hidden.has(key)) });
  show.title = "Show or hide on the map";
  show.append(swatch(key), make("bdi", cluster.name));
  show.addEventListener("click", () => toggle(key));
  const sure = cluster.sure === null ? "" : ` · ${Math.round(100 * cluster.sure)} % sure`;
  head.append(show, make("span", `${cluster.size.toLocaleString("en")}${sure}`, { class: "muted size" }));
  const more = make("div", "", { class: "more" });
  more.append(button("select", "select", () => selectAll(key)));
  if (key >= 0 && store.state.fitted) {
    more.append(button("rename", "rename", () => rename(node, cluster)));
    if (store.state.supported.includes("split")) more.append(button("split", "split", () => act("split", { cluster: key })));
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

function button(part, text, press) {
  const node = make("button", text, { type: "button", "data-part": part });
  node.addEventListener("click", press);
  return node;
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
  const field = make("input", "", { maxlength: 80, "aria-label": `New name of ${cluster.name}`, "data-part": "field" });
  field.value = cluster.name;
  form.append(field, make("button", "save"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    form.replaceWith(make("p", "…"));
    if (!(await act("rename", { cluster: cluster.key, name: field.value }))) show();
    list.querySelector(`li[data-key="${cluster.key}"] [data-part="rename"]`)?.focus();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      form.remove();
      show();
    }
  });
  node.querySelector(".line").replaceWith(form);
  field.focus();
  field.select();
}
