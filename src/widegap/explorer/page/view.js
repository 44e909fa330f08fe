// Which part of the unit square is on the screen: a middle and a zoom, and the way between places and pixels.

export class View {
  constructor() {
    this.reset();
    this.width = this.height = 1;
  }

  reset() {
    this.x = this.y = 0.5;
    this.zoom = 1;
  }

  get unit() {
    return 0.94 * Math.min(this.width, this.height) * this.zoom;
  }

  // Wide maps stretch the square a little, so that the room is used.
  get unitX() {
    return this.unit * Math.min(1.6, Math.max(1, this.width / this.height));
  }

  toPixel(x, y) {
    return [(x - this.x) * this.unitX + this.width / 2, this.height / 2 - (y - this.y) * this.unit];
  }

  toPlace(px, py) {
    return [(px - this.width / 2) / this.unitX + this.x, (this.height / 2 - py) / this.unit + this.y];
  }

  pan(dx, dy) {
    this.x -= dx / this.unitX;
    this.y += dy / this.unit;
  }

  zoomAt(factor, px, py) {
    const [x, y] = this.toPlace(px, py);
    this.zoom = Math.min(400, Math.max(0.5, this.zoom * factor));
    const [nx, ny] = this.toPlace(px, py);
    this.x += x - nx;
    this.y += y - ny;
  }

  // For the shader: clip = place * scale + offset.
  get scale() {
    return [(2 * this.unitX) / this.width, (2 * this.unit) / this.height];
  }

  get offset() {
    const [sx, sy] = this.scale;
    return [-this.x * sx, -this.y * sy];
  }
}
