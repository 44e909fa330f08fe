// Requests to Python, by the channel that the page has, and whether people wait for an answer.

import { host } from "./host.js";

const SLOW = 200; // milliseconds after which an answer counts as slow: below this people notice no wait
let waiting = 0;
let slow = 0;
/** @type {(busy: boolean) => void} */
let tellBusy = () => {};

/** Call a function with whether people wait for an answer. @param {(busy: boolean) => void} call */
export function onBusy(call) {
  tellBusy = call;
}

// What an answer gives; while it is slow to come, the page says so.
async function awaited(answer) {
  waiting++;
  if (waiting === 1) slow = setTimeout(() => tellBusy(true), SLOW);
  try {
    return await answer;
  } finally {
    waiting--;
    if (!waiting) {
      clearTimeout(slow);
      tellBusy(false);
    }
  }
}

/** What nobody waits for. @param {string} name @param {object} [parameters] */
export const getAhead = (name, parameters) => host.channel.get(name, parameters);

/** @param {string} name @param {object} [parameters] */
export const get = (name, parameters) => awaited(getAhead(name, parameters));

/** What nobody waits for. @param {string} name @param {object} body */
export const postBeside = (name, body) => host.channel.post(name, body);

/** @param {string} name @param {object} body */
export const post = (name, body = {}) => awaited(postBeside(name, body));
