// The number of clusters: labels, and how sure they are, are fetched ahead, so that sliding only changes colours.

import { get } from "./api.js";
import { countedClusters, element, field } from "./dom.js";
import { host } from "./host.js";
import { recut } from "./map.js";
import { act, cutAhead, cutAt, on, store, tell } from "./store.js";

const slider = field("k");
const shown = element("kvalue");
const next = field("next");
let ahead = 0;

export function start() {
  slider.addEventListener("input", slide);
  slider.addEventListener("change", () => act("k", { k: Number(slider.value) }));
  next.addEventListener("change", () => act("number", { k: Number(next.value) }));
  on("state", (fitted) => {
    next.value = store.state.next ?? "";
    next.disabled = store.state.working;
    const [low, high] = store.state.numbers;
    slider.min = low;
    slider.max = high;
    slider.value = store.state.k;
    slider.disabled = low === high || store.state.working;
    shown.textContent = store.state.k;
    if (fitted) fetchAhead();
  });
}

async function slide() {
  const k = Number(slider.value);
  shown.textContent = String(k);
  slider.setAttribute("aria-valuetext", countedClusters(k));
  const cut = await cutAt(k);
  if (Number(slider.value) !== k) return;
  store.k = k;
  recut(cut);
  const found = await get("clusters", { k });
  if (store.k !== k) return;
  store.clusters = found.clusters;
  store.meanSure = found.sure;
  tell("recut");
}

// All numbers, those next to the present one first.
async function fetchAhead() {
  const turn = ++ahead;
  const [low, high] = store.state.numbers;
  const own = store.state.k;
  const numbers = Array.from({ length: high - low + 1 }, (_, i) => low + i);
  numbers.sort((a, b) => Math.abs(a - own) - Math.abs(b - own));
  for (const k of numbers) {
    if (turn !== ahead) return;
    try {
      await cutAhead(k);
    } catch {
      return; // another fit has come
    }
  }
  host.frame.dataset.ahead = "done";
}
