/* SPDX-License-Identifier: Apache-2.0 */
// The router's page: asks for engines, requests and moves, and draws them. It gives no orders.
// Nothing that the router says is ever taken as markup. Rows are kept and changed in place, so that
// screen readers stay where they are.
"use strict";

const MOST_REQUESTS = 20;
const PATIENCE_MS = 5000;  // for one answer: a router that is stopped keeps its connections
const SELDOM_MS = 10000;   // between two looks of a page that nobody sees, or that take long
const byId = (id) => document.getElementById(id);
let token = null;
let shown = false;  // something of the router's is on the page

function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
function duration(ms) {
  if (ms < 1000) return `${ms} ms`;
  return ms < 120000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60000)} min`;
}

// A row of the table for each item, in this order. Cells carry their column's name, for narrow
// screens.
function rows(id, items, key, cells) {
  const body = byId(id);
  const heads = body.parentElement.querySelectorAll("th");
  const old = new Map([...body.children].map((row) => [row.dataset.key, row]));
  let place = body.firstElementChild;
  for (const item of items) {
    const name = key(item);
    let row = old.get(name);
    old.delete(name);
    if (!row) {
      row = document.createElement("tr");
      row.dataset.key = name;
      for (const head of heads) row.insertCell().dataset.label = head.textContent;
    }
    if (row === place) place = place.nextElementSibling;
    else body.insertBefore(row, place);
    cells(item).forEach((text, i) => say(row.cells[i], String(text)));
  }
  for (const row of old.values()) row.remove();
}

const reasons = (failed) => Object.entries(failed).filter(([, count]) => count > 0);

function drawMoves({ moves, last }) {
  rows("moves", moves, (kind) => kind.kind, (kind) => {
    const why = reasons(kind.failed);
    return [kind.kind === "kv" ? "KV" : "tokens", kind.done, kind.ended, why.reduce((sum, [, count]) => sum + count, 0),
      why.map(([reason, count]) => `${reason} ${count}`).join(", ")];
  });
  const now = Date.now();
  rows("last", last, (move) => String(move.number), (move) => [
    `${duration(Math.max(0, Math.round((now - move.at_ms) / 1000) * 1000))} ago`, move.request, move.from, move.to,
    move.kind === "kv" ? "KV" : "tokens", move.end, duration(move.took_ms), move.why]);
  byId("no-last").hidden = last.length > 0;
}
function drawEngines(engines) {
  rows("engines", engines, (engine) => engine.name, (engine) => [engine.name, engine.state, engine.requests,
    `${engine.held_tokens} of ${engine.usable_tokens}`,
    engine.pool ? engine.pool + (engine.pool_away ? " (its keeper is away)" : "") : "none", engine.fault]);
  say(byId("model"), engines.find((engine) => engine.model)?.model ?? "");
}
function drawRequests({ requests, total }) {
  requests.sort((a, b) => b.tokens - a.tokens);
  rows("requests", requests, (request) => request.name, (request) => [request.name, request.engine || "waits",
    request.moves_to, request.tokens, request.move_failed]);
  say(byId("requests-hint"), total > requests.length ? `The largest ${requests.length} of ${total}.` : "");
  byId("no-requests").hidden = requests.length > 0;
}

async function ask(path) {
  const reply = await fetch(path, { headers: token ? { Authorization: `Bearer ${token}` } : {}, cache: "no-store",
    signal: AbortSignal.timeout(PATIENCE_MS) });
  const told = await reply.json().catch(() => ({}));
  if (reply.ok) return told;
  const fault = new Error(told.error?.message ?? `HTTP ${reply.status}`);
  fault.status = reply.status;
  throw fault;
}
function connection(kind, text) {
  if (byId("connection").dataset.state !== kind) byId("connection").dataset.state = kind;
  say(byId("connection"), text);
}
async function look() {
  try {
    drawEngines((await ask("admin/v1/engines")).engines);
    drawRequests(await ask(`admin/v1/requests?most=${MOST_REQUESTS}`));
    drawMoves(await ask("admin/v1/moves"));
    shown = true;
    say(byId("fault"), "");
    connection("live", "Live");
  } catch (fault) {
    if (fault.status === 401 || fault.status === 403) {
      connection("lost", "A token is wanted.");
      say(byId("fault"), token || fault.status === 403 ? fault.message : "");
      byId("access").open = true;
    } else {
      connection("lost", shown ? "The router does not answer; what is shown is old." : fault.message);
    }
  }
}
let timer = 0;
async function poll() {
  clearTimeout(timer);
  const began = Date.now();
  await look();
  timer = setTimeout(poll, Math.max(document.hidden ? SELDOM_MS : 1000,
    Math.min(10 * (Date.now() - began), SELDOM_MS)));
}
byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  token = byId("token").value.trim() || null;
  byId("token").value = "";
  byId("access").open = false;
  byId("access").firstElementChild.focus();
  poll();
});
document.addEventListener("visibilitychange", () => { if (!document.hidden) poll(); });
poll();
