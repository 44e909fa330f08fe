// What all parts of the page share, and functions that are called after changes.

import { get, getAhead, post, postBeside } from "./api.js";

const listeners = new Map();

export const store = {
  state: null, // the workspace, as the server describes it
  rows: new Uint32Array(0), // rows on the map, as the server numbers them, from 0
  numbers: new Uint32Array(0), // what people call them: numbers in the table, from 1
  places: new Float32Array(0), // x and y of each
  behind: { keys: new Int32Array(0), places: new Float32Array(0) }, // rows from before an update
  keys: new Int32Array(0), // cluster of each
  sure: new Uint8Array(0), // how sure, 0 to 255
  meanSure: null, // of all rows, 0 to 1
  moved: new Uint8Array(0), // whether the last fit moved it
  found: null, // whether a search found it, null without a search
  hidden: new Set(), // clusters that are not shown
  marked: null, // the cluster that stands out from all others, by its key
  selected: new Set(), // places in the arrays above
  k: 0, // number of clusters that is shown; the slider may be ahead of the server
  clusters: [], // at this number
};

export function on(name, call) {
  if (!listeners.has(name)) listeners.set(name, []);
  listeners.get(name).push(call);
}

export function tell(name, ...values) {
  for (const call of listeners.get(name) ?? []) call(...values);
}

const cuts = new Map(); // `${fit} ${k}` to the keys of the rows and how sure they are

export async function cutAt(k, fetched = get) {
  const { fit } = store.state;
  const name = `${fit} ${k}`;
  if (!cuts.has(name)) {
    const [keys, sure] = await Promise.all([fetched("labels", { k, fit }), fetched("sure", { k, fit })]);
    cuts.set(name, { keys: new Int32Array(keys), sure: new Uint8Array(sure) });
  }
  return cuts.get(name);
}

export const cutAhead = (k) => cutAt(k, getAhead);

let acting = Promise.resolve(true);

// One action after the other, so that each knows of the one before it; gives whether it was done.
export function act(kind, data = {}) {
  acting = acting.then(() => acted(kind, data));
  return acting;
}

async function acted(kind, data) {
  try {
    await take(await post("act", { kind, data, base: store.state.number }));
    return true;
  } catch (error) {
    tell("message", error.message, true);
    if (error.changed) await refresh();
    return false;
  }
}

export async function refresh() {
  await take(await get("state"));
}

let taking = Promise.resolve();

// One state after the other, so that a slow answer never overwrites a later one.
function take(state) {
  taking = taking.then(() => taken(state)).catch((error) => tell("message", error.message, true));
  return taking;
}

async function taken(state) {
  const before = store.state;
  if (before && state.number < before.number) return;
  store.state = state;
  store.k = state.k;
  store.clusters = state.clusters;
  store.meanSure = state.sure;
  const fitted = !before || before.fit !== state.fit;
  if (fitted) store.moved = new Uint8Array(await get("moved"));
  Object.assign(store, await cutAt(state.k));
  tell("state", fitted);
}

export const clusterOf = (key) =>
  store.clusters.find((cluster) => cluster.key === key) ?? { key, name: key < 0 ? "none" : "a cluster that is not shown", size: 0 };

export function select(places) {
  store.selected = new Set(places);
  tell("selection");
  const rows = [...store.selected].map((i) => store.rows[i]);
  postBeside("select", { rows }).catch((error) => tell("message", error.message, true));
}
