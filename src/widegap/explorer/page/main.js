// Puts the page together, follows the server, and offers downloads.

import * as about from "./about.js";
import { get, onBusy, post } from "./api.js";
import * as clusters from "./clusters.js";
import * as corrections from "./corrections.js";
import { button, countedClusters, element, field, make, sureness } from "./dom.js";
import { host } from "./host.js";
import * as keys from "./keys.js";
import * as map from "./map.js";
import * as profile from "./profile.js";
import * as questions from "./questions.js";
import * as search from "./search.js";
import * as selection from "./selection.js";
import * as slider from "./slider.js";
import { act, on, refresh, store, tell } from "./store.js";
import * as tree from "./tree.js";
import * as update from "./update.js";

const LAYOUTS = { neighbours: "nearest neighbours", scores: "scores", columns: "two columns" };
const SAVED = 60000; // milliseconds that a browser may take to begin a download
const EXPORTS = {
  "assignments.csv": "rows and clusters, CSV",
  "assignments.parquet": "rows and clusters, Parquet",
  "assignments.jsonl": "rows and clusters, JSON lines",
  "model.widegap": "model for widegap predict",
  "report.html": "report",
  "reproduce.py": "Python script that repeats the session",
};

function header() {
  const { state } = store;
  if (!host.embedded) document.title = `${state.title} · widegap`;
  element("title").textContent = state.title;
  const count = `${state.n_rows.toLocaleString("en")} ${state.unit}s`;
  const found = state.fitted ? ` · ${countedClusters(store.k)} by ${state.method}${sureness(store.meanSure)}` : "";
  element("summary").textContent = count + found;
  field("undo").disabled = !state.can_undo || state.working;
  field("redo").disabled = !state.can_redo || state.working;
  element("again").textContent = state.pending ? `Re-cluster (${state.pending} new)` : "Re-cluster";
  element("unapplied").hidden = !state.pending;
  element("unapplied").textContent = `Corrections not applied yet: ${state.pending}. Re-cluster to include them in these files.`;
  element("sampled").textContent =
    state.on_map < state.n_rows ? `The map shows a sample of ${state.on_map.toLocaleString("en")} ${state.unit}s.` : "";
  element("notes").replaceChildren(...state.notes.map((note) => make("li", note)));
  element("notebox").hidden = !state.notes.length;
}

function working(progress) {
  field("again").disabled = progress.running;
  element("stop").hidden = !progress.running;
  const bar = field("progress");
  bar.hidden = !progress.running;
  if (!progress.running) return;
  if (progress.of) {
    bar.max = progress.of;
    bar.value = progress.done;
  } else bar.removeAttribute("value");
  element("message").textContent = `Clustering … ${progress.done}${progress.of ? ` of ${progress.of}` : ""}`;
}

let was = { running: false };

async function follow(news) {
  const ended = was.running && !news.progress.running;
  was = news.progress;
  element("trouble").hidden = !news.trouble;
  element("trouble").textContent = news.trouble ?? "";
  working(news.progress);
  if (news.number !== store.state.number || ended || news.progress.running !== store.state.working) await refresh();
  const { message, seconds } = news.progress;
  if (ended) tell("message", message ?? `Done in ${seconds.toFixed(1)} s.`, Boolean(message));
}

async function layout() {
  const name = field("layout").value;
  element("axes").hidden = name !== "columns";
  const axes = name === "columns" ? { x: field("x").value, y: field("y").value } : {};
  element("map").setAttribute("aria-busy", "true");
  try {
    await map.place(name, axes);
  } catch (error) {
    tell("message", error.message, true);
  }
  element("map").removeAttribute("aria-busy");
}

function controls() {
  host.root.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // behind a shadow root an address does not lead there
    element("clusters").focus();
  });
  element("undo").addEventListener("click", () => act("undo"));
  element("redo").addEventListener("click", () => act("redo"));
  element("stop").addEventListener("click", () => post("stop"));
  element("again").addEventListener("click", async () => {
    try {
      await post("again", { base: store.state.number });
    } catch (error) {
      tell("message", error.message, true);
      await refresh();
    }
  });
  for (const id of ["layout", "x", "y"]) element(id).addEventListener("change", layout);
}

async function exports() {
  for (const name of await get("exports")) {
    const line = make("li");
    line.append(button(EXPORTS[name] ?? name, { "data-file": name }, () => save(name)));
    element("exports").querySelector("ul").append(line);
  }
}

async function save(name) {
  try {
    const address = URL.createObjectURL(new Blob([await get(`export/${name}`)]));
    make("a", "", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), SAVED);
  } catch (error) {
    tell("message", error.message, true);
  }
}

// A region that screen readers announce; it is there from the beginning, as the first answer may take long.
function busy(waits) {
  element("busy").hidden = !waits;
  element("busytext").textContent = waits ? host.channel.waits : "";
  host.frame.setAttribute("aria-busy", String(waits));
}

function colours() {
  host.frame.dataset.scheme = host.isDark() ? "dark" : "light";
}

async function begin() {
  colours();
  host.onScheme(() => {
    colours();
    if (store.state) tell("state", false);
  });
  onBusy(busy);
  on("message", (text, bad) => {
    element("message").textContent = text;
    element("message").classList.toggle("bad", Boolean(bad));
  });
  for (const part of [map, clusters, selection, corrections, questions, search, tree, profile, slider, keys, about, update]) part.start();
  controls();
  on("state", header);
  on("recut", header);
  let placed = null;
  on("state", async () => {
    if (placed === null) {
      const names = Object.keys(LAYOUTS).filter((name) => name !== "columns" || store.state.columns.length);
      element("layout").append(...names.map((name) => make("option", LAYOUTS[name], { value: name })));
    }
    // Places by scores follow the clusters; the others stay where they are.
    const name = `${store.state.fit} ${store.state.k}`;
    if (placed === null || (field("layout").value === "scores" && placed !== name)) {
      placed = name;
      await layout();
    }
  });
  store.numbers = new Uint32Array(await get("numbers"));
  await refresh();
  await exports();
  host.channel.listen(follow, () => {
    element("trouble").hidden = false;
    element("trouble").textContent = host.channel.lost;
  });
  host.frame.dataset.ready = "yes";
}

begin();
