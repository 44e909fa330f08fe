// Where the page stands: a document of its own, with a server. In a notebook, notebook.js gives another host.

import { http } from "./http.js";

/**
 * The way to Python. Answers are values of JSON, or an ArrayBuffer; errors say whether the state has changed since.
 * @typedef {object} Channel
 * @property {string} waits what to say while an answer is due
 * @property {string} lost what to say when no answer will come
 * @property {(name: string, parameters?: object) => Promise<any>} get
 * @property {(name: string, body: object) => Promise<any>} post
 * @property {(receive: (news: any) => unknown, lost: () => unknown) => void} listen calls back with all news
 */

/**
 * @typedef {object} Host
 * @property {Document | ShadowRoot} root holds all elements
 * @property {HTMLElement} frame is around them, and has their colours
 * @property {Channel} channel
 * @property {boolean} embedded whether other things are on the same page
 * @property {() => boolean} isDark
 * @property {(call: () => unknown) => void} onScheme calls back when light becomes dark, or dark light
 * @property {(call: () => unknown) => void} onEnd calls back when the page is removed
 */

const dark = matchMedia("(prefers-color-scheme: dark)");

/** @type {Host} */
export const host = {
  root: document,
  frame: document.body,
  channel: http,
  embedded: false,
  isDark: () => dark.matches,
  onScheme: (call) => dark.addEventListener("change", call),
  onEnd: () => {}, // the browser frees all that a document holds
};
