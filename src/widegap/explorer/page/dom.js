// Elements of the page: found by id, or made.

import { host } from "./host.js";

/** @param {string} id */
export const element = (id) => host.root.getElementById(id);

/** @param {number} k */
export const countedClusters = (k) => (k === 1 ? "1 cluster" : `${k} clusters`);

/**
 * A field of the page, of whatever kind: its value is read and written alike.
 * @param {string} id
 * @returns {any}
 */
export const field = (id) => host.root.getElementById(id);

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string} text
 * @param {Record<string, string | number>} attributes
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, text = "", attributes = {}) {
  const node = document.createElement(tag);
  node.textContent = text;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  return node;
}

/** @param {string} text @param {Record<string, string | number>} attributes @param {(event: Event) => unknown} press */
export function button(text, attributes, press) {
  const node = make("button", text, { type: "button", ...attributes });
  node.addEventListener("click", press);
  return node;
}

/** @param {number | null | undefined} value */
export function number(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  return Math.abs(value) >= 1000
    ? Math.round(value).toLocaleString("en")
    : String(Number(value.toPrecision(digits))).replace("-", "−");
}

/** How sure, as the end of a line. @param {number | null} share */
export const sureness = (share) => (share === null ? "" : ` · ${Math.round(100 * share)} % sure`);
