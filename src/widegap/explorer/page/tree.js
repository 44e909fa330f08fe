// The tree of merges, from the last one on the left to the sets that it begins with on the right.

import { get } from "./api.js";
import { on, store } from "./store.js";

const box = document.getElementById("tree");
const WIDTH = 640;
const LINE = 13;

function svg(tag, attributes) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

export function start() {
  on("state", async (fitted) => {
    if (fitted) draw(await get("tree"));
    markCut();
  });
  on("recut", markCut);
}

let steps = 0;

function draw(tree) {
  document.getElementById("treebox").hidden = !tree;
  if (!tree) return;
  const m = tree.leaves.length;
  steps = tree.merges.length;
  const order = leafOrder(tree, m);
  const y = order.map((place) => (place + 0.5) * LINE);
  const x = (step) => WIDTH - 70 - ((step + 1) / (steps + 1)) * (WIDTH - 90);
  const left = Array(m).fill(WIDTH - 70);
  const height = m * LINE;
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img" });
  picture.setAttribute("aria-label", `Tree of ${m} groups; the last merges are on the left.`);
  tree.merges.forEach((merge, step) => {
    const [a, b] = merge.parts;
    const at = x(step);
    const path = `M${left[a]} ${y[a]}H${at}V${y[b]}H${left[b]}`;
    const line = svg("path", { d: path, class: "branch" });
    const title = svg("title", {});
    const margin = merge.margin === null ? "" : `, margin ${merge.margin.toFixed(2)}`;
    title.textContent = `${steps - step + 1} clusters become ${steps - step}: ${merge.size} ${store.state.unit}s${margin}`;
    line.append(title);
    line.style.strokeWidth = `${1 + 3 * Math.max(0, merge.margin ?? 0)}px`;
    picture.append(line);
    y.push((y[a] + y[b]) / 2);
    left.push(at);
  });
  tree.leaves.forEach((size, leaf) => {
    const text = svg("text", { x: WIDTH - 64, y: y[leaf] + 4 });
    text.textContent = size.toLocaleString("en");
    picture.append(text);
  });
  picture.append(svg("line", { id: "cut", y1: 0, y2: height, x1: 0, x2: 0 }));
  box.replaceChildren(picture);
}

function leafOrder(tree, m) {
  const place = Array(m);
  let next = 0;
  const visit = [m + tree.merges.length - 1];
  while (visit.length) {
    const node = visit.pop();
    if (node < m) place[node] = next++;
    else visit.push(...tree.merges[node - m].parts);
  }
  return place;
}

// Between the merge that leaves k clusters and the next one.
function markCut() {
  const line = document.getElementById("cut");
  if (!line) return;
  const step = steps - store.k + 0.5;
  const at = WIDTH - 70 - ((step + 1) / (steps + 1)) * (WIDTH - 90);
  const shown = store.k <= steps + 1;
  line.setAttribute("x1", at);
  line.setAttribute("x2", at);
  line.style.display = shown ? "" : "none";
}
