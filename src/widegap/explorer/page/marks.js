// What is drawn over the points: names of clusters, the lasso, the cross of the keys, the ring of the hovered point.

import { host } from "./host.js";
import { colour } from "./palette.js";
import { store } from "./store.js";

const SAMPLE = 4000; // points from which the middles of clusters are taken

function middles(shown) {
  const found = new Map();
  const n = store.keys.length;
  const step = Math.max(1, Math.floor(n / SAMPLE));
  for (let i = 0; i < n; i += step) {
    const key = store.keys[i];
    if (key < 0 || !shown(i)) continue;
    if (!found.has(key)) found.set(key, [[], []]);
    found.get(key)[0].push(store.places[2 * i]);
    found.get(key)[1].push(store.places[2 * i + 1]);
  }
  const middle = (values) => values.sort((a, b) => a - b)[values.length >> 1];
  return [...found].map(([key, [xs, ys]]) => [key, middle(xs), middle(ys)]);
}

let kept = { keys: null, places: null, hidden: "", found: null, middles: [] };

function keptMiddles(shown) {
  const hidden = [...store.hidden].join();
  const same =
    kept.keys === store.keys && kept.places === store.places && kept.hidden === hidden && kept.found === store.found;
  if (!same)
    kept = { keys: store.keys, places: store.places, hidden, found: store.found, middles: middles(shown) };
  return kept.middles;
}

export function drawMarks(canvas, map, shown) {
  const pen = canvas.getContext("2d");
  const { view } = map;
  const style = getComputedStyle(host.frame);
  const ink = style.getPropertyValue("--ink");
  pen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  pen.clearRect(0, 0, view.width, view.height);
  pen.strokeStyle = ink;
  if (store.state?.fitted) names(pen, view, style, shown);
  if (map.lasso) outline(pen, map.lasso.map((corner) => view.toPixel(...corner)));
  if (map.corner && map.cross) {
    const [x, y] = view.toPixel(...map.corner);
    outline(pen, [[x, y], [map.cross[0], y], map.cross, [x, map.cross[1]]]);
  }
  if (map.hovered >= 0) ring(pen, view.toPixel(store.places[2 * map.hovered], store.places[2 * map.hovered + 1]));
  if (map.cross) cross(pen, map.cross);
}

function names(pen, view, style, shown) {
  pen.font = "600 12px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.lineJoin = "round";
  for (const [key, x, y] of keptMiddles(shown)) {
    const cluster = store.clusters.find((one) => one.key === key);
    const name = cluster?.name ?? "";
    const short = name.length > 24 ? `${name.slice(0, 23)}…` : name;
    const [at, py] = view.toPixel(x, y);
    const half = pen.measureText(short).width / 2 + 3;
    const inside = at > 0 && at < view.width;
    const px = inside ? Math.max(half, Math.min(at, view.width - half)) : at; // no name is cut at an edge
    pen.lineWidth = 4;
    pen.strokeStyle = style.getPropertyValue("--card");
    pen.strokeText(short, px, py);
    pen.fillStyle = colour(key);
    pen.fillText(short, px, py);
  }
  pen.strokeStyle = style.getPropertyValue("--ink");
}

function outline(pen, corners) {
  pen.beginPath();
  corners.forEach(([x, y]) => pen.lineTo(x, y));
  pen.closePath();
  pen.lineWidth = 1.5;
  pen.setLineDash([5, 4]);
  pen.stroke();
  pen.setLineDash([]);
}

function ring(pen, [x, y]) {
  pen.beginPath();
  pen.arc(x, y, 9, 0, 2 * Math.PI);
  pen.lineWidth = 2;
  pen.stroke();
}

function cross(pen, [x, y]) {
  pen.beginPath();
  for (const [dx, dy] of [[10, 0], [0, 10]]) {
    pen.moveTo(x - dx, y - dy);
    pen.lineTo(x + dx, y + dy);
  }
  pen.lineWidth = 1.5;
  pen.stroke();
}
