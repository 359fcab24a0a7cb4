/* SPDX-License-Identifier: Apache-2.0 */
// What the coordinator's page and the router's have in common: elements, questions with an end,
// and looking again and again. Nothing that is told is ever taken as markup. Elements are kept and
// changed in place, so that focus and screen readers stay where they are.
"use strict";

const PATIENCE_MS = 10000;  // for one answer: who is stopped keeps its connections
const SELDOM_MS = 10000;    // between two looks of a page that nobody sees
const byId = (id) => document.getElementById(id);

// --- text and elements ----------------------------------------------------------------------
function duration(ms) {
  if (ms < 1000) return `${ms} ms`;
  return ms < 120000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60000)} min`;
}
function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}
function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
function set(element, attribute, value) {
  if (element.getAttribute(attribute) !== String(value)) element.setAttribute(attribute, value);
}
// One child of `parent` for each item, made once by `create` and brought up to date by `update`.
function sync(parent, items, key, create, update) {
  const old = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let place = parent.firstElementChild;
  for (const item of items) {
    let child = old.get(key(item));
    if (child) {
      old.delete(key(item));
    } else {
      child = create(item);
      child.dataset.key = key(item);
    }
    if (child === place) place = place.nextElementSibling;
    else parent.insertBefore(child, place);
    update(child, item);
  }
  for (const child of old.values()) child.remove();
}
// A row of the table that `body` is of, its cells of their columns' classes. They carry their
// columns' names, for narrow screens.
function row(body) {
  const made = make("tr");
  for (const head of byId(body).parentElement.querySelectorAll("th")) {
    const cell = make("td", head.className);
    cell.dataset.label = head.textContent;
    made.append(cell);
  }
  return made;
}
// Such a row for each item, whose cells say what `texts` answers.
function rows(body, items, key, texts) {
  sync(byId(body), items, key, () => row(body),
    (made, item) => texts(item).forEach((text, i) => say(made.cells[i], String(text))));
}

// --- the server -----------------------------------------------------------------------------
// What it answers. Throws an error with the reply's status, or without one where none came.
async function ask(method, path, token, body) {
  const headers = {};
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const reply = await fetch(path, { method, headers, cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS),
    body: body === undefined ? undefined : JSON.stringify(body) });
  const told = await reply.json().catch(() => ({}));
  if (reply.ok) return told;
  const fault = new Error(told.detail ?? told.error?.message ?? `HTTP ${reply.status}`);
  fault.status = reply.status;
  throw fault;
}
function connection(kind, text) {
  set(byId("connection"), "data-state", kind);
  say(byId("connection"), text);
}
// What a look that failed says. `shown`: something is on the page.
function lost(server, fault, shown) {
  connection("lost", fault.status !== undefined ? fault.message
    : `${server} does not answer${shown ? "; what is shown is old" : ""}.`);
}
// A function that looks at once, and from then on again and again: `pause()` milliseconds after a
// look, and for a tenth of the time at most. `look` answers whether it was told anything.
function lookout(look, pause) {
  let timer = 0;
  const poll = async () => {
    clearTimeout(timer);
    const began = Date.now();
    const rest = await look() ? 10 * (Date.now() - began) : 0;
    clearTimeout(timer);
    timer = setTimeout(poll, Math.max(document.hidden ? SELDOM_MS : pause(), rest));
  };
  document.addEventListener("visibilitychange", () => { if (!document.hidden) poll(); });
  return poll;
}
