// A page may hold several reports, and much besides: each minds its own element only.
document.querySelectorAll(".widegap-report:not(.js)").forEach((report) => {
  "use strict";
  report.classList.add("js");
  const data = JSON.parse(report.querySelector(".payload").textContent);
  const all = (selector, root) => Array.from((root || report).querySelectorAll(selector));
  const chips = all(".chip"), chosen = new Set();

  function filter() {
    for (const chip of chips) {
      const key = chip.dataset.filter;
      chip.setAttribute("aria-pressed", String(key === "all" ? !chosen.size : chosen.has(key)));
    }
    for (const part of all("[data-cluster]")) {
      part.classList.toggle("off", chosen.size > 0 && !chosen.has(part.dataset.cluster));
    }
  }
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      const key = chip.dataset.filter;
      if (key === "all") chosen.clear();
      else if (!chosen.delete(key)) chosen.add(key);
      filter();
    });
  }

  // What is folded away on the screen is printed all the same.
  addEventListener("beforeprint", () => { for (const part of all("details")) part.open = true; });

  const map = report.querySelector(".points"), tip = report.querySelector(".tip");
  if (!map) return;
  const base = map.viewBox.baseVal, full = { x: base.x, y: base.y, w: base.width, h: base.height };
  const dots = all(":scope > circle", map).map((node) => ({ node, x: +node.getAttribute("cx"), y: +node.getAttribute("cy") }));
  let view = { ...full }, lit = null, drag = null;

  function show() {
    // On a narrow screen the map shrinks, but what has to be seen and touched should not.
    const larger = Math.max(1, Math.min(2.2, (0.8 * full.w) / (map.clientWidth || full.w)));
    const scale = (larger * view.w) / full.w;
    map.setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${view.h}`);
    for (const dot of dots) dot.node.setAttribute("r", String(3.2 * larger * Math.sqrt(view.w / full.w)));
    for (const tag of all(".tag", map)) {
      const text = tag.querySelector("text"), circle = tag.querySelector("circle");
      const y = +circle.getAttribute("cy");
      circle.setAttribute("r", String(11 * scale));
      text.style.fontSize = 12 * scale + "px";
      text.setAttribute("y", String(y + 4 * scale));
    }
  }
  function place(event) {
    const matrix = map.getScreenCTM();
    return { x: (event.clientX - matrix.e) / matrix.a, y: (event.clientY - matrix.f) / matrix.d, scale: matrix.a };
  }
  function zoom(factor, at) {
    const w = Math.min(full.w, Math.max(full.w / 40, view.w * factor)), h = (w * full.h) / full.w;
    const fx = (at.x - view.x) / view.w, fy = (at.y - view.y) / view.h;
    view = { x: at.x - fx * w, y: at.y - fy * h, w, h };
    clamp();
  }
  function clamp() {
    view.x = Math.min(Math.max(view.x, full.x), full.x + full.w - view.w);
    view.y = Math.min(Math.max(view.y, full.y), full.y + full.h - view.h);
    show();
  }
  function hide() {
    if (lit) lit.classList.remove("lit");
    lit = null;
    tip.hidden = true;
  }
  function point(event) {
    const at = place(event), reach = 14 / at.scale;
    let best = null, least = reach * reach;
    for (const dot of dots) {
      const d = (dot.x - at.x) ** 2 + (dot.y - at.y) ** 2;
      if (d < least && !dot.node.classList.contains("off")) { least = d; best = dot.node; }
    }
    if (!best) return hide();
    if (best !== lit) {
      hide();
      lit = best;
      lit.classList.add("lit");
      const [row, text, margin] = data.points[+best.dataset.i];
      const head = document.createElement("b"), body = document.createElement("span");
      const name = data.names[best.dataset.cluster] || "no cluster";
      head.textContent = `${data.unit} ${row} · ${name} · margin ${margin}`;
      body.dir = "auto";
      body.textContent = text;
      tip.replaceChildren(head, body);
    }
    tip.hidden = false;
    const box = map.parentElement.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    tip.style.left = Math.max(0, Math.min(x + 14, box.width - tip.offsetWidth - 4)) + "px";
    tip.style.top = (y + 18 + tip.offsetHeight > box.height ? Math.max(0, y - tip.offsetHeight - 12) : y + 18) + "px";
  }
  map.addEventListener("pointermove", (event) => {
    if (!drag) return point(event);
    const at = place(event);
    view.x += drag.x - at.x;
    view.y += drag.y - at.y;
    clamp();
  });
  map.addEventListener("pointerdown", (event) => {
    point(event);
    if (view.w < full.w && event.button === 0) { drag = place(event); map.setPointerCapture(event.pointerId); hide(); }
  });
  for (const end of ["pointerup", "pointercancel"]) map.addEventListener(end, () => { drag = null; });
  map.addEventListener("pointerleave", hide);
  map.addEventListener("dblclick", (event) => zoom(0.5, place(event)));
  map.addEventListener("wheel", (event) => {
    // The page scrolls unless the map was chosen by a click, or Ctrl is held (which is also what a pinch sends).
    if (!event.ctrlKey && document.activeElement !== map) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, place(event));
  }, { passive: false });
  addEventListener("resize", show);
  show();
  const middle = () => ({ x: view.x + view.w / 2, y: view.y + view.h / 2 });
  const acts = { in: () => zoom(0.6, middle()), out: () => zoom(1 / 0.6, middle()), reset: () => { view = { ...full }; show(); } };
  for (const button of all("[data-zoom]")) button.addEventListener("click", () => acts[button.dataset.zoom]());
  map.addEventListener("keydown", (event) => {
    const act = { "+": "in", "-": "out", "0": "reset" }[event.key];
    if (act) acts[act]();
  });
  all("[data-start]").forEach((dot) => {
    const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
    title.textContent = data.starts[+dot.dataset.start].join(": ");
    dot.append(title);
  });
});
