// The colours of results/_palette.py, and shapes as a second channel.

import { host } from "./host.js";

export const SHAPES = ["●", "■", "▲", "◆", "✚", "▼"];
const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#bf9b00", "#cc4f96", "#3a9bd9", "#7a4fbf", "#7f6000", "#555555", "#8c2d04"];
const DARK = ["#56b4e9", "#ff8c42", "#2fd6a3", "#f0c541", "#f58fc4", "#9ad0ff", "#bfa0ff", "#d9c27a", "#bdbdbd", "#e0876a"];

export const colours = () => (host.isDark() ? DARK : LIGHT);
export const NONE = "#8a8f98";
export const colour = (key) => (key < 0 ? NONE : colours()[key % 10]);
export const shape = (key) => (key < 0 ? "○" : SHAPES[key % 6]);

export const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);

export function swatch(key) {
  const mark = document.createElement("span");
  mark.className = "swatch";
  mark.setAttribute("aria-hidden", "true");
  mark.style.color = colour(key);
  mark.textContent = shape(key);
  return mark;
}
