// Searching texts and filtering columns: rows that are not found grow pale on the map.

import { post } from "./api.js";
import { button, element, field, make } from "./dom.js";
import { on, select, store, tell } from "./store.js";

export function start() {
  const form = element("search");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    await find();
  });
  form.addEventListener("reset", () => {
    store.found = null;
    element("found").textContent = "";
    tell("found");
  });
  let filled = false;
  on("state", () => {
    if (filled) return;
    filled = true;
    for (const id of ["column", "x", "y"])
      element(id).append(...store.state.columns.map((name) => make("option", name, { value: name })));
    if (store.state.columns.length > 1) field("y").value = store.state.columns[1];
    for (const id of ["column", "low", "high"]) field(id).closest("label").hidden = !store.state.columns.length;
  });
}

async function find() {
  const query = { text: field("text").value.trim(), column: field("column").value };
  for (const id of ["low", "high"]) if (field(id).value !== "") query[id] = Number(field(id).value);
  if (store.hidden.size) query.clusters = store.clusters.map((one) => one.key).filter((key) => !store.hidden.has(key));
  try {
    const content = await post("find", query);
    const [count] = new Uint32Array(content, 0, 1);
    store.found = new Uint8Array(content, 4);
    const choose = button("Select them", { id: "selectfound" }, () =>
      select([...store.found.keys()].filter((i) => store.found[i])),
    );
    element("found").replaceChildren(`${count.toLocaleString("en")} found `, choose);
    tell("found");
  } catch (error) {
    tell("message", error.message, true);
  }
}
