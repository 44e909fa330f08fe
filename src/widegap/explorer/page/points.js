// Points by WebGL2: one draw call, shapes and colours in the shader, nothing that needs eval. Behind them, in a second
// call, small dots of other rows.

import { NONE, colours, rgb } from "./palette.js";

const MOVING = 15000; // points while the map moves: a frame takes a quarter of one of 100,000 (benchmarks/explorer.py)
const BEHIND = 0.6; // of the size of a point: dots behind are smaller

const VERTEX = `#version 300 es
layout(location=0) in vec2 place;
layout(location=1) in int key;
layout(location=2) in uint sure;
layout(location=3) in uint flags;
uniform vec2 scale, offset;
uniform float size;
uniform vec3 palette[10];
uniform vec3 none;
out vec4 ink;
flat out int kind;
void main() {
  bool gone = (flags & 1u) != 0u, chosen = (flags & 2u) != 0u, moved = (flags & 4u) != 0u, dim = (flags & 8u) != 0u;
  gl_Position = vec4(place * scale + offset, gone ? 2.0 : chosen ? -0.5 : 0.0, 1.0);
  gl_PointSize = size * (chosen || moved ? 1.7 : 1.0);
  vec3 hue = key < 0 ? none : palette[key % 10];
  float alpha = dim ? 0.07 : chosen || moved ? 1.0 : 0.22 + 0.68 * float(sure) / 255.0;
  ink = vec4(hue, alpha);
  kind = (key == -1 ? 6 : key < 0 ? 0 : key % 6) + (chosen ? 16 : moved ? 32 : 0);
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 ink;
flat in int kind;
uniform vec3 edge;
out vec4 colour;
float outside(int shape, vec2 p) {
  vec2 a = abs(p);
  if (shape == 0) return length(p);
  if (shape == 1) return max(a.x, a.y) * 1.15;
  if (shape == 2) return max(p.y, a.x * 0.9 - p.y * 0.5) * 1.25 + 0.1;
  if (shape == 3) return (a.x + a.y) * 0.98;
  if (shape == 4) return max(min(a.x, a.y) * 3.0, max(a.x, a.y)) * 1.0;
  if (shape == 5) return max(-p.y, a.x * 0.9 + p.y * 0.5) * 1.25 + 0.1;
  return length(p);
}
void main() {
  vec2 p = gl_PointCoord * 2.0 - 1.0;
  int shape = kind & 15;
  float d = outside(shape, p);
  if (d > 1.0) discard;
  if (shape == 6 && d < 0.6) discard;
  vec3 hue = kind >= 16 && d > 0.68 ? edge : ink.rgb;
  colour = vec4(hue * ink.a, ink.a);
}`;

function compiled(gl, kind, text) {
  const shader = gl.createShader(kind);
  gl.shaderSource(shader, text);
  gl.compileShader(shader);
  if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
  return shader;
}

export class Points {
  constructor(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: true, preserveDrawingBuffer: true });
    if (!gl) throw new Error("This browser has no WebGL2, so the map cannot be drawn. Lists and actions still work.");
    this.gl = gl;
    this.canvas = canvas;
    this.prepare();
  }

  // Also after a browser took the graphics memory away: everything has to be filled again.
  prepare() {
    const gl = this.gl;
    this.n = this.drawn = this.behind = 0;
    const program = gl.createProgram();
    gl.attachShader(program, compiled(gl, gl.VERTEX_SHADER, VERTEX));
    gl.attachShader(program, compiled(gl, gl.FRAGMENT_SHADER, FRAGMENT));
    gl.linkProgram(program);
    gl.useProgram(program);
    const names = ["scale", "offset", "size", "palette", "none", "edge"];
    this.at = Object.fromEntries(names.map((name) => [name, gl.getUniformLocation(program, name)]));
    this.buffers = [0, 1, 2, 3].map(() => gl.createBuffer());
    this.some = gl.createBuffer();
    this.dots = gl.createVertexArray();
    this.dotBuffers = [0, 1].map(() => gl.createBuffer());
    gl.vertexAttribI4ui(2, 128, 0, 0, 0); // dots have no attributes 2 and 3
    gl.vertexAttribI4ui(3, 0, 0, 0, 0);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  // Attribute 0: float32 pairs; 1: int32; 2 and 3: uint8.
  fill(number, values) {
    if (number === 0 && this.n !== values.length / 2) {
      this.n = values.length / 2;
      this.gl.bindBuffer(this.gl.ELEMENT_ARRAY_BUFFER, this.some);
      this.gl.bufferData(this.gl.ELEMENT_ARRAY_BUFFER, someOf(this.n), this.gl.STATIC_DRAW);
    }
    this.attribute(number, this.buffers[number], values);
  }

  // Places of dots behind the points, and the clusters whose colours they have; -2 for grey.
  fillBehind(places, keys) {
    this.behind = keys.length;
    this.gl.bindVertexArray(this.dots);
    this.attribute(0, this.dotBuffers[0], places);
    this.attribute(1, this.dotBuffers[1], keys);
    this.gl.bindVertexArray(null);
  }

  attribute(number, buffer, values) {
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
    gl.enableVertexAttribArray(number);
    if (number === 0) gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
    else gl.vertexAttribIPointer(number, 1, number === 1 ? gl.INT : gl.UNSIGNED_BYTE, 0, 0);
  }

  // Browsers allow a page some sixteen maps, those that are no longer shown included.
  end() {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }

  colour(ink) {
    const gl = this.gl;
    gl.uniform3fv(this.at.palette, colours().flatMap(rgb));
    gl.uniform3fv(this.at.none, rgb(NONE));
    gl.uniform3fv(this.at.edge, ink);
  }

  // All points, or, while the map moves, the same few in every frame.
  draw(scale, offset, size, moving) {
    const gl = this.gl;
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform2fv(this.at.scale, scale);
    gl.uniform2fv(this.at.offset, offset);
    if (this.behind) {
      gl.uniform1f(this.at.size, BEHIND * size);
      gl.bindVertexArray(this.dots);
      gl.drawArrays(gl.POINTS, 0, this.behind);
      gl.bindVertexArray(null);
    }
    gl.uniform1f(this.at.size, size);
    this.drawn = moving ? Math.min(MOVING, this.n) : this.n;
    if (this.drawn < this.n) gl.drawElements(gl.POINTS, this.drawn, gl.UNSIGNED_INT, 0);
    else if (this.n) gl.drawArrays(gl.POINTS, 0, this.n);
  }
}

// Which points a moving map shows: a random sample, drawn anew only when there are other rows; each point lies on the
// same ones as when all are drawn.
function someOf(n) {
  if (n <= MOVING) return new Uint32Array(0);
  const some = Uint32Array.from({ length: n }, (_, i) => i);
  for (let i = 0; i < MOVING; i++) {
    const other = i + Math.floor(Math.random() * (n - i));
    [some[i], some[other]] = [some[other], some[i]];
  }
  return some.slice(0, MOVING).sort();
}
