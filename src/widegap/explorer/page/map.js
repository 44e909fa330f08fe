// The map: points that can be moved, zoomed, hovered, clicked and lassoed, with mouse, fingers or keys.

import { get } from "./api.js";
import { element, field } from "./dom.js";
import { Grid } from "./grid.js";
import { host } from "./host.js";
import { drawMarks } from "./marks.js";
import { rgb } from "./palette.js";
import { Points } from "./points.js";
import { on, select, store, tell } from "./store.js";
import { View } from "./view.js";

const REACH = 9; // pixels within which a click means a point: about its size
const STEP = 12; // pixels that an arrow key moves the cross: a point and its gap
const REST = 200; // milliseconds without a move after which the map rests: longer than between two turns of a wheel
const GREY = -2; // of rows from before an update, which show no cluster

const canvas = /** @type {HTMLCanvasElement} */ (element("points"));
const marks = /** @type {HTMLCanvasElement} */ (element("marks"));
const tip = element("tip");

export const map = {
  view: new View(),
  tool: "pan",
  lasso: null, // corners in places
  cross: null, // pixels, while keys are used
  corner: null, // of a box that keys draw
  hovered: -1,
  moving: false, // fewer points are drawn then
  drawn: 0, // points in the last frame
};

let points = null;
let grid = new Grid(new Float32Array(0));
let flags = new Uint8Array(0);
let waiting = false;
let stale = false; // whether the next frame has to draw the points, not only the marks
let resting = 0;

export const shown = (i) => !(flags[i] & 9);

export function start() {
  try {
    points = new Points(canvas);
  } catch (error) {
    element("nogl").textContent = error.message;
    element("nogl").hidden = false;
  }
  canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
  canvas.addEventListener("webglcontextrestored", () => {
    points.prepare();
    fillPlaces();
    fillAll();
  });
  new ResizeObserver(resize).observe(element("map"));
  host.onScheme(() => {
    recolour();
    draw();
  });
  on("state", fillAll);
  on("selection", refill);
  on("recut", draw);
  on("found", refill);
  on("hidden", refill);
  on("marked", () => {
    fillBehind();
    refill();
  });
  element("showbefore").addEventListener("change", () => {
    fillBehind();
    draw();
  });
  host.onEnd(() => points?.end());
  pointerEvents();
  keyEvents();
  for (const button of host.root.querySelectorAll("[data-zoom]"))
    button.addEventListener("click", () => zoomStep(button.getAttribute("data-zoom")));
  element("pan").addEventListener("click", () => useTool("pan"));
  element("lasso").addEventListener("click", () => useTool("lasso"));
}

export async function place(layout, axes = {}) {
  const asked = { layout, ...axes };
  const content = await get("points", asked);
  const before = store.state.rows_before ? await get("behind", asked) : new ArrayBuffer(0);
  const [n, m] = [content, before].map((part) => part.byteLength / 12);
  const found = new Float32Array(2 * (n + m));
  found.set(new Float32Array(content, 4 * n));
  found.set(new Float32Array(before, 4 * m), 2 * n);
  const places = inUnitSquare(found, layout === "columns");
  store.rows = new Uint32Array(content, 0, n);
  store.places = places.subarray(0, 2 * n);
  store.behind = { keys: new Int32Array(before, 0, m), places: places.subarray(2 * n) };
  element("before").hidden = !m;
  grid = new Grid(store.places);
  map.view.reset();
  map.hovered = -1;
  fillPlaces();
  fillAll();
}

function inUnitSquare(places, each) {
  const low = [Infinity, Infinity];
  const high = [-Infinity, -Infinity];
  places.forEach((value, i) => {
    low[i & 1] = Math.min(low[i & 1], value);
    high[i & 1] = Math.max(high[i & 1], value);
  });
  const range = [high[0] - low[0], high[1] - low[1]].map((value) => value || 1);
  const widest = Math.max(...range);
  return places.map((value, i) => {
    const of = each ? range[i & 1] : widest;
    return (value - low[i & 1]) / of + (of - range[i & 1]) / of / 2;
  });
}

// What the points look like

function fillPlaces() {
  if (points) points.fill(0, store.places);
  fillBehind();
}

// Rows from before an update are grey, but for those of the cluster that is marked.
function fillBehind() {
  if (!points) return;
  const { keys, places } = store.behind;
  const n = field("showbefore").checked ? keys.length : 0;
  const colours = keys.map((key) => (key === store.marked ? key : GREY));
  points.fillBehind(places.subarray(0, 2 * n), colours.subarray(0, n));
}

function fillAll() {
  if (points && store.keys.length === store.places.length / 2) {
    points.fill(1, store.keys);
    points.fill(2, store.sure);
    recolour();
  }
  refill();
}

export function recut({ keys, sure }) {
  store.keys = keys;
  store.sure = sure;
  if (points) {
    points.fill(1, keys);
    points.fill(2, sure);
  }
  refill();
}

function recolour() {
  if (points) points.colour(rgb(getComputedStyle(host.frame).getPropertyValue("--ink").trim()));
}

function refill() {
  const n = store.places.length / 2;
  if (flags.length !== n) flags = new Uint8Array(n);
  const showMoved = field("showmoved")?.checked;
  for (let i = 0; i < n; i++) {
    const isOther = store.marked !== null && store.keys[i] !== store.marked;
    const away = isOther || (store.found && !store.found[i]) ? 8 : 0;
    flags[i] = (store.hidden.has(store.keys[i]) ? 1 : 0) | away | (showMoved && store.moved[i] ? 4 : 0);
  }
  for (const i of store.selected) flags[i] |= 2;
  if (points) points.fill(3, flags);
  draw();
}

export function draw() {
  stale = true;
  mark();
}

// What lies over the points changes more often than they do.
function mark() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(paint);
}

function paint() {
  waiting = false;
  if (stale && points) paintPoints();
  stale = false;
  drawMarks(marks, map, shown);
}

function paintPoints() {
  const n = store.places.length / 2;
  const size = Math.max(n > 20000 ? 3 : n > 3000 ? 6 : 9, 4 * Math.log2(1 + map.view.zoom) - 1);
  points.draw(map.view.scale, map.view.offset, Math.min(18, size) * devicePixelRatio, map.moving);
  map.drawn = points.drawn;
}

// Draw a map that moves, and all its points when it has come to rest.
function move() {
  map.moving = true;
  clearTimeout(resting);
  resting = setTimeout(rest, REST);
  draw();
}

function rest() {
  clearTimeout(resting);
  if (!map.moving) return;
  map.moving = false;
  draw();
}

export function panBy(dx, dy) {
  map.view.pan(dx, dy);
  move();
}

export function zoomAt(factor, px, py) {
  map.view.zoomAt(factor, px, py);
  move();
}

function resize() {
  const box = element("map").getBoundingClientRect();
  map.view.width = box.width;
  map.view.height = box.height;
  for (const one of [canvas, marks]) {
    one.width = Math.round(box.width * devicePixelRatio);
    one.height = Math.round(box.height * devicePixelRatio);
  }
  draw();
}

// Mouse and fingers

const fingers = new Map();

function at(event) {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

function pointerEvents() {
  let began = null;
  let far = 0; // a lasso that ends where it began has come a long way
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, at(event));
    began = at(event);
    far = 0;
    map.cross = null;
    if (map.tool === "lasso" && fingers.size === 1) map.lasso = [map.view.toPlace(...began)];
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return hover(...at(event));
    const now = at(event);
    far = Math.max(far, Math.hypot(now[0] - began[0], now[1] - began[1]));
    if (fingers.size === 2) pinch(event.pointerId, before, now);
    else if (map.lasso) map.lasso.push(map.view.toPlace(...now));
    else panBy(now[0] - before[0], now[1] - before[1]);
    fingers.set(event.pointerId, now);
    hideTip();
    return mark();
  });
  const end = (event) => {
    const now = fingers.get(event.pointerId);
    fingers.delete(event.pointerId);
    if (!now || !began) return;
    const still = far < 4;
    const corners = map.lasso;
    map.lasso = null;
    if (still && event.type === "pointerup") pick(nearest(...now), event.shiftKey || event.ctrlKey);
    else if (corners && corners.length > 2) choose(grid.inside(corners, shown), event.shiftKey);
    rest();
    mark();
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (host.embedded && host.root.activeElement !== canvas) return; // whoever scrolls past the map goes on
      event.preventDefault();
      zoomAt(Math.exp(-event.deltaY / 400), ...at(event));
    },
    { passive: false },
  );
}

function pinch(id, before, now) {
  const [other] = [...fingers].filter(([finger]) => finger !== id).map(([, pixel]) => pixel);
  const far = (a) => Math.hypot(a[0] - other[0], a[1] - other[1]) || 1;
  zoomAt(far(now) / far(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
}

export function nearest(px, py, pixels = REACH) {
  const [x, y] = map.view.toPlace(px, py);
  return grid.nearest(x, y, pixels / map.view.unitX, pixels / map.view.unit, shown);
}

function choose(found, more) {
  select(more ? [...store.selected, ...found] : found);
}

export function pick(i, more) {
  if (i < 0) {
    if (!more) select([]);
    return;
  }
  if (!more) select([i]);
  else select(store.selected.has(i) ? [...store.selected].filter((one) => one !== i) : [...store.selected, i]);
  tell("open", store.rows[i]);
}

// The text of a row, while the mouse is on it

const texts = new Map();
let asking = 0;

export function hover(px, py) {
  const i = nearest(px, py);
  if (i === map.hovered) return;
  map.hovered = i;
  if (i < 0) hideTip();
  else showTip(i);
  mark();
}

function showTip(i) {
  const row = store.rows[i];
  const cluster = store.clusters.find((one) => one.key === store.keys[i]);
  const sure = store.state.sure === null ? "" : ` · ${Math.round(store.sure[i] / 2.55)} % sure`;
  tip.firstChild.textContent = `${store.state.unit} ${store.numbers[i]} · ${cluster?.name ?? "none"}${sure}`;
  tip.lastChild.textContent = texts.get(row) ?? "";
  const [x, y] = map.view.toPixel(store.places[2 * i], store.places[2 * i + 1]);
  const left = x > map.view.width / 2;
  tip.style.left = left ? "auto" : `${x + 14}px`;
  tip.style.right = left ? `${map.view.width - x + 14}px` : "auto";
  tip.style.top = `${Math.min(y + 10, map.view.height - 90)}px`;
  tip.hidden = false;
  if (texts.has(row)) return;
  clearTimeout(asking);
  asking = setTimeout(async () => {
    const [found] = await get("rows", { rows: row });
    texts.set(row, found.text);
    if (store.rows[map.hovered] === row) tip.lastChild.textContent = found.text;
  }, 40);
}

function hideTip() {
  clearTimeout(asking);
  map.hovered = -1;
  tip.hidden = true;
}

// Keys

export function useTool(tool) {
  map.tool = tool;
  for (const name of ["pan", "lasso"]) element(name).setAttribute("aria-pressed", String(name === tool));
  canvas.classList.toggle("crosshair", tool === "lasso");
}

export function zoomStep(way) {
  const middle = map.cross ?? [map.view.width / 2, map.view.height / 2];
  if (way !== "reset") return zoomAt(way === "in" ? 1.5 : 1 / 1.5, ...middle);
  map.view.reset();
  return draw();
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function keyEvents() {
  canvas.addEventListener("keydown", (event) => {
    const arrow = ARROWS[event.key];
    if (arrow) {
      event.preventDefault();
      map.cross ??= [map.view.width / 2, map.view.height / 2];
      const step = STEP * (event.shiftKey ? 5 : 1);
      const limits = [map.view.width, map.view.height];
      map.cross = map.cross.map((value, axis) => Math.max(0, Math.min(limits[axis], value + step * arrow[axis])));
      hover(...map.cross);
      mark();
    } else if (event.key === "b" && map.cross) {
      map.corner = map.view.toPlace(...map.cross);
    } else if (event.key === "Enter" && map.cross) {
      event.preventDefault();
      if (map.corner) endBox(event.shiftKey);
      else pick(nearest(...map.cross, 2 * REACH), event.shiftKey);
    }
  });
  canvas.addEventListener("blur", () => {
    map.cross = map.corner = null;
    hideTip();
    mark();
  });
}

function endBox(more) {
  const [ax, ay] = map.corner;
  const [bx, by] = map.view.toPlace(...map.cross);
  map.corner = null;
  const box = [[ax, ay], [bx, ay], [bx, by], [ax, by]];
  choose(grid.inside(box, shown), more);
  mark();
}
