/* SPDX-License-Identifier: Apache-2.0 */
// The dashboard: polls GET /v1/state, draws it, and passes an operator's orders on. common.js,
// which is loaded before, has what it draws and asks with.
"use strict";

const KEPT_SAMPLES = 900;
const STATES = ["leased", "revoking", "quarantined", "suspect", "offered"];  // as stacked
const SVG = "http://www.w3.org/2000/svg";

let token = null;       // null: read only
let samples = [];       // {time, offered, leased, …}
let names = new Map();  // id -> label, of clients that were ever seen here
let lastSides = new Map();  // id -> where a client stood when it last lent or borrowed
let state = null;
let servers = null;     // the reply of v1/servers
let shownOnce = false;

// --- text -----------------------------------------------------------------------------------
function bytes(count) {
  if (count < 1024) return `${count} B`;
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = -1;
  do { count /= 1024; ++unit; } while (count >= 1024 && unit + 1 < units.length);
  return `${count < 10 ? count.toFixed(1) : Math.round(count)} ${units[unit]}`;
}
const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
const label = (id) => names.get(id) ?? `gone (${id.slice(0, 8)})`;
const byLabel = (key) => (a, b) => label(a[key]).localeCompare(label(b[key]));

// --- what the state means -------------------------------------------------------------------
const shown = (slab) => (slab.state === "orphaned" ? "suspect" : slab.state);
function total(slabs) {
  const sums = Object.fromEntries(STATES.map((name) => [name, 0]));
  for (const slab of slabs) sums[shown(slab)] += slab.bytes;
  return sums;
}
function summarise(now) {
  const clients = new Map(now.clients.map((c) => [c.id, { ...c, own: [], held: 0 }]));
  const loans = new Map();
  const loan = (producer, consumer) => {
    const key = `${producer} ${consumer}`;
    if (!loans.has(key)) loans.set(key, { key, producer, consumer, slabs: 0, bytes: 0, states: {}, paired: false });
    return loans.get(key);
  };
  for (const slab of now.slabs) {
    clients.get(slab.producer)?.own.push(slab);
    if (!slab.holder || slab.alleged) continue;
    const holder = clients.get(slab.holder);
    if (holder) holder.held += slab.bytes;
    const lent = loan(slab.producer, slab.holder);
    ++lent.slabs;
    lent.bytes += slab.bytes;
    lent.states[slab.state] = (lent.states[slab.state] ?? 0) + 1;
  }
  for (const pair of now.pairs) loan(pair.producer, pair.consumer).paired = true;
  return { clients, loans: [...loans.values()].sort(byLabel("producer")) };
}
const drained = (client) => client.draining && client.own.length === 0;
function notesOf(summary) {
  return [...summary.clients.values()].filter(drained)
    .map((client) => `${label(client.id)} is drained: nothing of it is lent.`);
}
function alertsOf(now, summary) {
  const found = [];
  if (servers.shared && servers.fault) found.push("What is told of other servers may be old.");
  for (const reclaim of now.reclaims) {
    if (!reclaim.done || reclaim.outstanding.length === 0) continue;
    const late = new Set(reclaim.outstanding.map((slab) => `${slab.producer} ${slab.index}`));
    const holders = new Set(now.slabs.filter((slab) => slab.holder && late.has(`${slab.producer} ${slab.index}`))
      .map((slab) => label(slab.holder)));
    found.push(`Reclaim ${reclaim.id} of ${label(reclaim.producer)} is past its deadline: ` +
      `${plural(reclaim.outstanding.length, "slab")} missing` +
      (holders.size ? `, held by ${[...holders].join(", ")}.` : "."));
  }
  for (const client of summary.clients.values()) {
    if (client.state === "suspect") found.push(`${label(client.id)} is silent (process ${client.pid}).`);
    if (client.draining && !drained(client)) found.push(`${label(client.id)} is being drained.`);
  }
  for (const who of new Set(now.slabs.filter((slab) => slab.alleged).map((slab) => `${slab.producer} ${slab.holder}`))) {
    const [producer, holder] = who.split(" ");
    found.push(`${label(producer)} alone says that ${label(holder)} holds memory of it.`);
  }
  const orphans = now.slabs.filter((slab) => slab.state === "orphaned");
  if (orphans.length) found.push(`${plural(orphans.length, "slab")} held of lenders that are gone.`);
  return found;
}

// --- drawing --------------------------------------------------------------------------------
function drawAlerts(found, notes) {
  sync(byId("alerts"), found, (text) => text, (text) => make("li", "", text), () => {});
  sync(byId("notes"), notes, (text) => text, (text) => make("li", "", text), () => {});
  byId("no-alerts").hidden = found.length + notes.length > 0;
}

function clientCard(lender) {
  const card = make("li", "client");
  card.append(make("h3"), make("p", "quiet device"));
  if (lender) {
    const meter = make("div", "meter");
    meter.setAttribute("role", "img");
    STATES.forEach((name) => meter.append(make("span", name)));
    card.append(meter);
  }
  card.append(make("p", "sum"));
  if (!lender) card.append(make("p", "quiet why"));
  const actions = make("div", "actions operator");
  if (lender) actions.append(button("Reclaim…", "reclaim"));
  actions.append(button("Drain…", "drain"));
  card.append(actions);
  return card;
}
function button(text, order) {
  const made = make("button", "plain", text);
  made.type = "button";
  made.dataset.order = order;
  return made;
}
function drawCard(card, client, lender) {
  const name = label(client.id);
  say(card.children[0], client.name || name);
  say(card.children[1], `${client.device_name || "device"}, process ${client.pid}` +
    (client.state === "suspect" ? ", silent" : "") +
    (client.draining ? (drained(client) ? ", drained" : ", draining") : ""));
  set(card, "data-state", client.state);
  let text = `borrows ${bytes(client.held)}`;
  if (lender) {
    const sums = total(client.own);
    const size = (slabs) => slabs.reduce((sum, slab) => sum + slab.bytes, 0);
    const all = size(client.own);
    text = `${bytes(size(client.own.filter((slab) => slab.holder && !slab.alleged)))} of ${bytes(all)} lent`;
    const meter = card.children[2];
    STATES.forEach((each, i) => { meter.children[i].style.flexGrow = all ? sums[each] / all : 0; });
    set(meter, "aria-label", `${name}: ` + (all === 0 ? "nothing put up" :
      STATES.filter((each) => sums[each]).map((each) => `${each} ${bytes(sums[each])}`).join(", ")));
  }
  say(card.querySelector(".sum"), text);
  if (!lender) say(card.querySelector(".why"), client.refused ? `Gets no more: ${client.refused.detail}.` : "");
  for (const each of card.querySelectorAll("button")) {
    each.dataset.client = client.id;
    if (each.dataset.order !== "reclaim") {
      each.dataset.order = client.draining ? "undrain" : "drain";
      say(each, client.draining ? "End drain" : "Drain…");
    } else {
      each.disabled = client.own.length === 0;
    }
    set(each, "aria-label", `${each.textContent.replace("…", "")} ${name}`);
  }
}
function drawMap(summary) {
  const all = [...summary.clients.values()].sort(byLabel("id"));
  // A client that may do both stands where it is busy; while idle where it was, or on both sides.
  const sides = (client) => ({ lender: client.own.length > 0, borrower: client.held > 0 });
  for (const client of all) {
    const now = sides(client);
    if (now.lender || now.borrower) lastSides.set(client.id, now);
  }
  const stands = (client, lender) => {
    const side = lastSides.get(client.id) ?? { lender: client.producer, borrower: client.consumer };
    return lender ? side.lender : side.borrower;
  };
  for (const [id, lender] of [["lenders", true], ["borrowers", false]]) {
    sync(byId(id), all.filter((client) => stands(client, lender)),
      (client) => client.id, () => clientCard(lender), (card, client) => drawCard(card, client, lender));
  }
  drawBands(summary.loans);
}
function drawBands(loans) {
  const map = byId("map").getBoundingClientRect();
  const place = (list, id) => [...byId(list).children].find((card) => card.dataset.key === id)?.getBoundingClientRect();
  const most = Math.max(1, ...loans.map((loan) => loan.bytes));
  const bands = [];
  for (const loan of loans) {
    const from = place("lenders", loan.producer);
    const to = place("borrowers", loan.consumer);
    if (!from || !to || loan.bytes === 0) continue;
    const [x1, y1] = [from.right - map.left, (from.top + from.bottom) / 2 - map.top];
    const [x2, y2] = [to.left - map.left, (to.top + to.bottom) / 2 - map.top];
    const middle = (x1 + x2) / 2;
    bands.push({ key: loan.key, d: `M${x1} ${y1} C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`,
      width: 2 + 12 * loan.bytes / most, moving: Boolean(loan.states.revoking) });
  }
  sync(byId("bands"), bands, (band) => band.key, () => document.createElementNS(SVG, "path"), (path, band) => {
    set(path, "d", band.d);
    set(path, "stroke-width", band.width.toFixed(1));
    set(path, "class", band.moving ? "moving" : "");
  });
}
function drawLoans(loans) {
  sync(byId("loans"), loans, (loan) => loan.key, (loan) => {
    const made = row("loans");
    const unpair = button("Unpair", "unpair");
    unpair.dataset.client = loan.consumer;
    made.lastChild.append(unpair);
    return made;
  }, (made, loan) => {
    const states = Object.entries(loan.states).map(([name, count]) => `${name} ${count}`).join(", ");
    const texts = [label(loan.producer), label(loan.consumer), String(loan.slabs), bytes(loan.bytes), states || "–"];
    texts.forEach((text, i) => say(made.children[i], text));
    const unpair = made.querySelector("button");
    unpair.hidden = !loan.paired;
    set(unpair, "aria-label", `Unpair ${texts[0]} and ${texts[1]}`);
  });
  byId("no-loans").hidden = loans.length > 0;
}
function drawReclaims(reclaims) {
  const newest = [...reclaims].sort((a, b) => b.id - a.id).slice(0, 20);
  sync(byId("reclaims"), newest, (reclaim) => String(reclaim.id), () => {
    const made = row("reclaims");
    const bar = make("progress");
    bar.max = 1;
    made.children[2].append(bar, make("span"));
    return made;
  }, (made, reclaim) => {
    const open = !reclaim.done;
    const whole = reclaim.done && reclaim.outstanding.length === 0;
    const told = open ? `open, ${duration(reclaim.deadline_in_ms)} left`
      : whole ? "complete" : `partial, ${plural(reclaim.outstanding.length, "slab")} missing`;
    say(made.children[0], String(reclaim.id));
    say(made.children[1], label(reclaim.producer));
    const [bar, text] = made.children[2].children;
    bar.value = reclaim.bytes_wanted ? reclaim.bytes_returned / reclaim.bytes_wanted : 1;
    set(bar, "aria-label", `Reclaim ${reclaim.id}`);
    say(text, bytes(reclaim.bytes_returned));
    say(made.children[3], bytes(reclaim.bytes_wanted));
    say(made.children[4], told);
    say(made.children[5], open ? `${duration(reclaim.age_ms)} so far` : duration(reclaim.took_ms));
    made.dataset.state = open ? "open" : whole ? "complete" : "partial";
  });
  byId("no-reclaims").hidden = newest.length > 0;
}
// Draws the coordinators that share an etcd; hidden where there is no etcd.
function drawServers() {
  byId("servers-section").hidden = !servers.shared;
  say(byId("servers-fault"), servers.fault);
  rows("servers", servers.shared ? servers.servers : [], (each) => each.name, (each) => [
    each.name + (each.name === servers.self ? ", this one" : ""), each.host, each.clients, each.groups,
    bytes(each.lent_bytes), bytes(each.held_bytes), each.coordinator || "–"]);
}
// Bytes at the left, from the top down; how long ago below.
function drawAxes(begin, now, most) {
  [1, 0.5, 0].forEach((share, i) => say(byId("chart-bytes").children[i], bytes(Math.round(most * share))));
  [1, 0.5, 0].forEach((share, i) =>
    say(byId("chart-times").children[i], share ? `${duration(Math.round((now - begin) * share))} ago` : "now"));
}
function drawChart() {
  const [width, height] = [600, 160];
  const now = Date.now();
  const begin = Math.min(samples[0].time, now - 10000);
  const sum = (sample) => STATES.reduce((all, name) => all + sample[name], 0);
  const most = Math.max(1, ...samples.map(sum));
  const x = (time) => ((time - begin) / (now - begin) * width).toFixed(1);
  const y = (value) => (height - value / most * (height - 6)).toFixed(1);
  const base = samples.map(() => 0);
  const areas = STATES.map((name) => {
    const below = [...base];
    samples.forEach((sample, i) => { base[i] += sample[name]; });
    // Steps: a value holds until the next sample.
    let over = "";
    let under = "";
    samples.forEach((sample, i) => {
      const end = i + 1 < samples.length ? samples[i + 1].time : now;
      over += ` L${x(sample.time)} ${y(base[i])} L${x(end)} ${y(base[i])}`;
      under = ` L${x(end)} ${y(below[i])} L${x(sample.time)} ${y(below[i])}` + under;
    });
    return { name, d: `M${(over + under).slice(2)}Z` };
  });
  sync(byId("chart-areas"), areas, (area) => area.name, (area) => {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("class", area.name);
    return path;
  }, (path, area) => set(path, "d", area.d));
  drawAxes(begin, now, most);
  const moments = state.reclaims.map((reclaim) => ({ id: reclaim.id, time: now - reclaim.age_ms,
    text: `Reclaim ${reclaim.id} of ${label(reclaim.producer)}` })).filter((each) => each.time >= begin);
  sync(byId("chart-marks"), moments, (each) => String(each.id), () => {
    const line = document.createElementNS(SVG, "path");
    line.append(document.createElementNS(SVG, "title"));
    return line;
  }, (line, each) => {
    set(line, "d", `M${x(each.time)} 0 V${height}`);
    say(line.firstChild, each.text);
  });
  byId("chart-key").hidden = moments.length === 0;
  const last = samples[samples.length - 1];
  say(byId("chart-text"), `The last ${duration(now - begin)}; at most ${bytes(most)}. Now: ` +
    (STATES.filter((name) => last[name]).map((name) => `${name} ${bytes(last[name])}`).join(", ") || "nothing") + ".");
}
function drawPairForm(summary) {
  const options = (id, role) => sync(byId(id), [...summary.clients.values()].filter((client) => client[role]).sort(byLabel("id")),
    (client) => client.id, (client) => new Option("", client.id), (option, client) => say(option, label(client.id)));
  options("pair-producer", "producer");
  options("pair-consumer", "consumer");
}
function draw(now) {
  state = now;
  const bearers = new Map();
  for (const client of now.clients) bearers.set(client.name, (bearers.get(client.name) ?? 0) + 1);
  for (const client of now.clients) {
    names.set(client.id, bearers.get(client.name) > 1 || !client.name ? `${client.name} (${client.id.slice(0, 8)})` : client.name);
  }
  const summary = summarise(now);
  samples.push({ time: Date.now(), ...total(now.slabs) });
  if (samples.length > KEPT_SAMPLES) samples.shift();
  drawAlerts(alertsOf(now, summary), notesOf(summary));
  drawMap(summary);
  drawLoans(summary.loans);
  drawReclaims(now.reclaims);
  drawPairForm(summary);
  drawServers();
  drawChart();
}

// --- the coordinator ------------------------------------------------------------------------
const get = (path) => ask("GET", path, token);
async function firstLook() {
  const info = await get("v1/info");
  say(byId("server"), `${info.version} on ${info.host || `server ${info.server.slice(0, 8)}`}`);
  servers = await get("v1/servers");
  const history = await get("v1/history");
  const now = Date.now();
  samples = history.samples.map((sample) => ({ time: now - sample.age_ms, offered: sample.offered,
    leased: sample.leased, revoking: sample.revoking, quarantined: sample.quarantined,
    suspect: sample.suspect + sample.orphaned }));
  shownOnce = true;
}
async function look() {
  try {
    if (!shownOnce) await firstLook();
    if (servers.shared) servers = await get("v1/servers");
    draw(await get("v1/state"));
    connection("live", "Live");
    return true;
  } catch (fault) {
    if (fault.status === 401 || fault.status === 403) {
      connection("lost", "This coordinator shows its state to holders of a token only.");
      byId("access").open = true;
    } else {
      lost("The coordinator", fault, state !== null);
    }
    return false;
  }
}
const poll = lookout(look, () => (state?.reclaims.some((reclaim) => !reclaim.done) ? 200 : 1000));

// --- orders ---------------------------------------------------------------------------------
function tell(outcome, fault = "") {
  say(byId("outcome"), outcome);
  say(byId("fault"), fault);
}
async function order(what, method, path, body) {
  if (token === null) return;
  tell("");
  try {
    const reply = await ask(method, path, token, body);
    tell(`${what}: accepted${reply.reclaim ? `, reclaim ${reply.reclaim.id}` : ""}.`);
  } catch (fault) {
    tell("", `${what}: ${fault.status === undefined ? "no answer came; it may be carried out" : `refused: ${fault.message}`}`);
  }
  poll();
}
function open(kind, client) {
  const name = label(client);
  const reclaim = kind === "reclaim";
  const lent = state.slabs.filter((slab) => slab.producer === client).reduce((sum, slab) => sum + slab.bytes, 0);
  say(byId("order-title"), reclaim ? `Reclaim from ${name}` : `Drain ${name}`);
  say(byId("order-text"), reclaim ? `It has put up ${bytes(lent)}. Free slabs go home at once, borrowers move off the rest.`
    : "Nothing more is granted of it or to it, and what it lends goes home.");
  say(byId("order-go"), reclaim ? "Reclaim" : "Drain");
  byId("order-bytes-row").hidden = !reclaim;
  byId("order-mib").disabled = !reclaim;
  byId("order-mib").value = Math.max(1, Math.ceil(lent / 1048576));
  const dialog = byId("order");
  dialog.returnValue = "cancel";
  dialog.onclose = () => {
    if (dialog.returnValue !== "go") return;
    const within_ms = Math.round(Number(byId("order-seconds").value) * 1000);
    if (reclaim) {
      order(`Reclaim from ${name}`, "POST", "v1/recalls",
        { producer: client, bytes: Math.round(Number(byId("order-mib").value) * 1048576), within_ms });
    } else {
      order(`Drain ${name}`, "POST", "v1/drains", { client, within_ms });
    }
  };
  dialog.showModal();
}
document.addEventListener("click", (event) => {
  const chosen = event.target.closest("button[data-order]");
  if (!chosen) return;
  const { order: kind, client } = chosen.dataset;
  if (kind === "unpair") order(`Unpair ${label(client)}`, "DELETE", `v1/pairs/${client}`);
  else if (kind === "undrain") order(`End the drain of ${label(client)}`, "DELETE", `v1/drains/${client}`);
  else open(kind, client);
});
byId("pair-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const [producer, consumer] = [byId("pair-producer").value, byId("pair-consumer").value];
  order(`Pair ${label(producer)} with ${label(consumer)}`, "PUT", "v1/pairs", { producer, consumer });
});
function operate(secret) {
  token = secret;
  document.body.classList.toggle("operating", secret !== null);
  byId("forget").hidden = secret === null;
}
byId("token-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const given = byId("token").value.trim();
  byId("token").value = "";
  if (!given) return;
  tell("");
  try {
    await ask("GET", "v1/state", given);
    operate(given);
    byId("access").open = false;
    byId("access").firstElementChild.focus();
    tell("Orders are possible now.");
  } catch (fault) {
    operate(null);
    tell("", fault.status === undefined ? "No answer came." : `This token was refused: ${fault.message}`);
  }
  poll();
});
byId("forget").addEventListener("click", () => {
  operate(null);
  tell("Read only.");
  byId("token").focus();
});
addEventListener("resize", () => { if (state) drawBands(summarise(state).loans); });
poll();
