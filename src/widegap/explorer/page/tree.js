// The tree of merges, from the last one on the left to the sets that it begins with on the right, as the server lays
// it out for reports, too.

import { get } from "./api.js";
import { element } from "./dom.js";
import { on, store } from "./store.js";

const box = element("tree");

function svg(tag, attributes) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  return node;
}

export function start() {
  on("state", async (fitted) => {
    if (fitted) draw(await get("tree"));
    markCut();
  });
  on("recut", markCut);
}

let cuts = {};

function draw(tree) {
  element("treebox").hidden = !tree;
  element("notree").hidden = Boolean(tree) || !store.state.fitted;
  if (!tree) return;
  cuts = tree.cuts;
  const m = tree.leaves.length;
  const height = m * tree.row;
  const picture = svg("svg", { viewBox: `0 0 ${tree.width} ${height}`, role: "img" });
  picture.setAttribute("aria-label", `Tree of ${m} groups; the last merges are on the left.`);
  tree.merges.forEach((merge, step) => {
    const cloud = merge.word === "as in a cloud";
    const line = svg("path", { d: merge.path, class: cloud ? "branch cloud" : "branch" });
    const title = svg("title", {});
    const margin = merge.margin === null ? "" : `, margin ${merge.margin.toFixed(2)}`;
    title.textContent = `${m - step} clusters become ${m - step - 1}: ${merge.size} ${store.state.unit}s${margin}${merge.word ? `; split: ${merge.word}` : ""}`;
    line.append(title);
    line.style.strokeWidth = `${1 + 3 * Math.max(0, merge.margin ?? 0)}px`;
    picture.append(line);
  });
  tree.leaves.forEach((size, leaf) => {
    const text = svg("text", { x: tree.labels, y: (leaf + 0.5) * tree.row + 4 });
    text.textContent = size.toLocaleString("en");
    picture.append(text);
  });
  picture.append(svg("line", { id: "cut", y1: 0, y2: height, x1: 0, x2: 0 }));
  box.replaceChildren(picture);
}

// Between the merge that leaves k clusters and the next one.
function markCut() {
  const line = element("cut");
  if (!line) return;
  const at = cuts[store.k];
  line.style.display = at === undefined ? "none" : "";
  line.setAttribute("x1", at ?? 0);
  line.setAttribute("x2", at ?? 0);
}
