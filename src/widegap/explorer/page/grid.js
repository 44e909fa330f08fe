// Points sorted into the cells of a grid: which is nearest to a place, which lie in a box or a polygon.

export class Grid {
  constructor(places) {
    this.places = places;
    const n = places.length / 2;
    this.side = Math.max(1, Math.min(512, Math.ceil(Math.sqrt(n / 2))));
    const cells = this.side * this.side;
    this.starts = new Uint32Array(cells + 1);
    const of = new Uint32Array(n);
    for (let i = 0; i < n; i++) {
      of[i] = this.row(places[2 * i + 1]) * this.side + this.row(places[2 * i]);
      this.starts[of[i] + 1]++;
    }
    for (let c = 0; c < cells; c++) this.starts[c + 1] += this.starts[c];
    const next = this.starts.slice(0, cells);
    this.items = new Uint32Array(n);
    for (let i = 0; i < n; i++) this.items[next[of[i]]++] = i;
  }

  // Places lie between 0 and 1.
  row(value) {
    return Math.max(0, Math.min(this.side - 1, Math.floor(value * this.side)));
  }

  *box(x0, y0, x1, y1) {
    for (let r = this.row(y0); r <= this.row(y1); r++)
      for (let c = this.row(x0); c <= this.row(x1); c++) {
        const cell = r * this.side + c;
        for (let at = this.starts[cell]; at < this.starts[cell + 1]; at++) yield this.items[at];
      }
  }

  nearest(x, y, rx, ry, shown) {
    let best = -1;
    let least = 1;
    for (const i of this.box(x - rx, y - ry, x + rx, y + ry)) {
      const dx = (this.places[2 * i] - x) / rx;
      const dy = (this.places[2 * i + 1] - y) / ry;
      const d = dx * dx + dy * dy;
      if (d <= least && shown(i)) {
        least = d;
        best = i;
      }
    }
    return best;
  }

  inside(polygon, shown) {
    const xs = polygon.map((corner) => corner[0]);
    const ys = polygon.map((corner) => corner[1]);
    const found = [];
    for (const i of this.box(Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)))
      if (shown(i) && within(polygon, this.places[2 * i], this.places[2 * i + 1])) found.push(i);
    return found;
  }
}

// Whether a ray from the place to the right crosses the polygon's edges an odd number of times.
function within(polygon, x, y) {
  let odd = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const [ax, ay] = polygon[i];
    const [bx, by] = polygon[j];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) odd = !odd;
  }
  return odd;
}
