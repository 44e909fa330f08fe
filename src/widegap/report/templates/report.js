// A page may hold several reports, and much besides: each minds its own element only.
document.querySelectorAll(".widegap-report:not(.js)").forEach((report) => {
  "use strict";
  report.classList.add("js");
  const data = JSON.parse(report.querySelector(".payload").textContent);
  const all = (selector, root) => Array.from((root || report).querySelectorAll(selector));
  const chips = all(".chip"), chosen = new Set();
  const named = (cluster) => data.names[cluster] || "no cluster";

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

  // Search: what does not match is faded on the map and left out of tables.
  const find = /** @type {HTMLInputElement} */ (report.querySelector(".find"));
  const found = report.querySelector(".found");
  const texts = data.points.map((fields) => fields.slice(0, 3).join(" ").toLowerCase());
  function search() {
    const words = find.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const hit = (text) => words.every((word) => text.includes(word));
    let n = 0;
    for (const dot of all(".points > circle")) {
      const match = hit(texts[+dot.dataset.i]);
      dot.classList.toggle("miss", !match);
      n += Number(match);
    }
    for (const line of all(".example, .profile tbody tr")) {
      line.classList.toggle("miss", words.length > 0 && !hit(line.textContent.toLowerCase()));
    }
    found.textContent = words.length && texts.length ? `${n.toLocaleString("en")} of ${texts.length.toLocaleString("en")} ${data.unit}s on the map` : "";
  }
  find.addEventListener("input", search);

  // Profile: sorted by a click on a heading, copied with all digits.
  const profile = /** @type {HTMLTableElement} */ (report.querySelector(".profile"));
  const value = (cell) => cell.dataset.value ?? cell.textContent.trim();
  all(".sort", profile || find).forEach((button, j) => {
    button.addEventListener("click", () => {
      const head = button.closest("th"), up = head.getAttribute("aria-sort") === "descending";
      for (const other of all("thead th", profile)) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (line) => (j ? Number(value(line.children[j]) || -Infinity) : value(line.children[0]));
      const lines = all("tbody tr", profile).sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        return (j ? y - x : y.localeCompare(x)) * (up ? -1 : 1);
      });
      profile.tBodies[0].append(...lines);
    });
  });
  function copied(text, button) {
    const area = document.createElement("textarea");
    area.value = text;
    report.append(area);
    area.select();
    const done = document.execCommand("copy");  // the clipboard's own interface is closed to frames and local files
    area.remove();
    const label = button.textContent;
    button.textContent = done ? "Copied" : "Copying is not allowed here";
    setTimeout(() => { button.textContent = label; }, 1500);
  }
  for (const button of all("[data-copy]")) {
    button.addEventListener("click", () => {
      const head = all("thead th", profile).map((cell) => cell.querySelector("[data-name]")?.textContent ?? cell.textContent.trim());
      const lines = all("tbody tr:not(.miss)", profile).map((line) => Array.from(line.children, value));
      copied([head, ...lines].map((cells) => cells.map((cell) => cell.replace(/\s+/g, " ")).join("\t")).join("\n"), button);
    });
  }

  // Names: changed in place, and kept in the page that is saved.
  function rename(cluster, name) {
    data.names[cluster] = name;
    for (const node of all(`[data-name="${cluster}"]`)) node.textContent = name;
    for (const button of all(".save")) button.hidden = button.dataset.save === "page" && !document.body.classList.contains("widegap-page");
  }
  for (const button of all("[data-rename]")) {
    button.addEventListener("click", () => {
      const cluster = button.dataset.rename, shown = button.parentElement.querySelector("[data-name]");
      const input = document.createElement("input");
      input.className = "naming";
      input.maxLength = 80;
      input.value = data.names[cluster];
      input.setAttribute("aria-label", `Name of cluster ${cluster}`);
      shown.replaceWith(input);
      input.focus();
      input.select();
      let open = true;
      const close = (keep) => {
        if (!open) return;
        open = false;
        input.replaceWith(shown);
        if (keep && input.value.trim()) rename(cluster, input.value.trim());
      };
      input.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === "Escape") close(event.key === "Enter");
      });
      input.addEventListener("blur", () => close(true));
    });
  }
  function download(text, kind, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: kind }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  function pageWithNames() {
    const page = /** @type {HTMLElement} */ (document.documentElement.cloneNode(true));
    const copy = page.querySelector(".widegap-report");
    copy.classList.remove("js");
    for (const part of copy.querySelectorAll(".off, .miss, .lit")) part.classList.remove("off", "miss", "lit");
    for (const part of all(".save", copy)) part.hidden = true;
    copy.querySelector(".found").textContent = "";
    const escaped = JSON.stringify(data).replace(/[<>&]/g, (sign) => "\\u00" + sign.charCodeAt(0).toString(16));
    copy.querySelector(".payload").textContent = escaped;
    return "<!doctype html>\n" + page.outerHTML;
  }
  const file = (report.querySelector("h1").textContent.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "report").slice(0, 60);
  const saves = {
    page: () => download(pageWithNames(), "text/html", `${file}.html`),
    names: () => download(JSON.stringify(data.names, null, 1), "application/json", `${file}-names.json`),
  };
  for (const button of all(".save")) button.addEventListener("click", () => saves[button.dataset.save]());

  // What is folded away on the screen is printed all the same.
  addEventListener("beforeprint", () => { for (const part of all("details")) part.open = true; });

  all("[data-start]").forEach((dot) => {
    const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
    title.textContent = data.starts[+dot.dataset.start].join(": ");
    dot.append(title);
  });

  const map = /** @type {SVGSVGElement} */ (report.querySelector(".points"));
  const tip = /** @type {HTMLElement} */ (report.querySelector(".tip"));
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
      if (d < least && !dot.node.classList.contains("off") && !dot.node.classList.contains("miss")) { least = d; best = dot.node; }
    }
    if (!best) return hide();
    if (best !== lit) {
      hide();
      lit = best;
      lit.classList.add("lit");
      const [label, title, text, depth, sure] = data.points[+best.dataset.i];
      const head = document.createElement("b"), body = document.createElement("span");
      head.textContent = [`${data.unit} ${label}`, named(best.dataset.cluster), depth, sure && `${sure} sure`].filter(Boolean).join(" · ");
      body.dir = "auto";
      body.textContent = title && text ? `${title}: ${text}` : title || text;
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
  for (const button of all("[data-sure]")) {
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(on));
      for (const { node } of dots) node.style.fillOpacity = on ? String(0.06 + 0.94 * (parseFloat(data.points[+node.dataset.i][4]) / 100) ** 3) : "";
    });
  }
  addEventListener("resize", show);
  show();
  const middle = () => ({ x: view.x + view.w / 2, y: view.y + view.h / 2 });
  const acts = { in: () => zoom(0.6, middle()), out: () => zoom(1 / 0.6, middle()), reset: () => { view = { ...full }; show(); } };
  for (const button of all("[data-zoom]")) button.addEventListener("click", () => acts[button.dataset.zoom]());
  map.addEventListener("keydown", (event) => {
    const act = { "+": "in", "-": "out", "0": "reset" }[event.key];
    if (act) acts[act]();
  });
});
