/* SPDX-License-Identifier: Apache-2.0 */
// The router's page: asks for engines, requests and moves, and draws them. It gives no orders.
// common.js, which is loaded before, has the rest.
"use strict";

const MOST_REQUESTS = 20;
const CAUSES = {
  operator: "an operator ordered it", drains: "its engine drains", overload: "its engine is full",
  balances: "its engine has more load", empties: "its engine can be emptied", completes: "it fills an engine",
  fills_gap: "it fills an engine", beside_large: "it fits beside a large one", makes_room: "a larger one needs the place",
};
let token = null;
let shown = false;  // something of the router's is on the page

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
    move.kind === "kv" ? "KV" : "tokens", move.end, duration(move.took_ms), CAUSES[move.cause] ?? move.cause, move.why]);
  byId("no-last").hidden = last.length > 0;
}
function drawEngines({ engines, coordinator_page: page }) {
  rows("engines", engines, (engine) => engine.name, (engine) => [engine.name, engine.state, engine.requests,
    `${engine.held_tokens} of ${engine.usable_tokens}`,
    engine.pool ? engine.pool + (engine.pool_away ? " (its keeper is away)" : "") : "none", engine.fault]);
  say(byId("model"), engines.find((engine) => engine.model)?.model ?? "");
  byId("lent").hidden = !page;
  if (page) byId("coordinator").href = page;
}
function drawRequests({ requests, total }) {
  requests.sort((a, b) => b.tokens - a.tokens);
  rows("requests", requests, (request) => request.name, (request) => [request.name, request.engine || "waits",
    request.moves_to, request.tokens, request.move_failed]);
  say(byId("requests-hint"), total > requests.length ? `The largest ${requests.length} of ${total}.` : "");
  byId("no-requests").hidden = requests.length > 0;
}

async function look() {
  try {
    drawEngines(await ask("GET", "admin/v1/engines", token));
    drawRequests(await ask("GET", `admin/v1/requests?most=${MOST_REQUESTS}`, token));
    drawMoves(await ask("GET", "admin/v1/moves", token));
    shown = true;
    say(byId("fault"), "");
    connection("live", "Live");
    return true;
  } catch (fault) {
    if (fault.status === 401 || fault.status === 403) {
      connection("lost", "A token is wanted.");
      say(byId("fault"), token || fault.status === 403 ? fault.message : "");
      byId("access").open = true;
    } else {
      lost("The router", fault, shown);
    }
    return false;
  }
}
const poll = lookout(look, () => 1000);
byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  token = byId("token").value.trim() || null;
  byId("token").value = "";
  byId("access").open = false;
  byId("access").firstElementChild.focus();
  poll();
});
poll();
