// SPDX-License-Identifier: Apache-2.0
#include "wire/events.hpp"

#include "wire/limits.hpp"
#include "wire/message.hpp"
#include "wire/names.hpp"
#include "wire/rows.hpp"

namespace aqua::wire {

using ledger::Time;

void write_row(Json& out, const Held& held, Time now) {
  write_row(out, held.grant, now);
  out["state"] = to_string(held.state);
  out["reclaim"] = held.reclaim;
  write_time(out, "deadline_in_ms", held.deadline, now);
}
void read_row(Fields& in, Held& held, Time now) {
  read_row(in, held.grant, now);
  in.named("state", held.state, parse_slab_state);
  in.number("reclaim", held.reclaim);
  read_time(in, "deadline_in_ms", held.deadline, now);
}

namespace {

void write(Json& out, const Snapshot& snapshot, Time now) {
  out["epoch"] = to_string(snapshot.epoch);
  out["last_event"] = snapshot.last_event;
  write_rows(out, "own", snapshot.own, now);
  write_rows(out, "held", snapshot.held, now);
  write_rows(out, "reclaims", snapshot.reclaims, now);
}
void read(Fields& in, Snapshot& snapshot, Time now) {
  in.id("epoch", snapshot.epoch);
  in.number("last_event", snapshot.last_event);
  read_rows(in, "own", snapshot.own, kMaxRows, now);
  read_rows(in, "held", snapshot.held, kMaxRows, now);
  read_rows(in, "reclaims", snapshot.reclaims, kMaxRows, now);
}

void write(Json& out, const WatchReply& reply, Time now) {
  out["epoch"] = to_string(reply.epoch);
  out["last_event"] = reply.last_event;
  write_rows(out, "events", reply.events, now);
  if (reply.snapshot) write(out["snapshot"] = Json::object(), *reply.snapshot, now);
}
void read(Fields& in, WatchReply& reply, Time now) {
  in.id("epoch", reply.epoch);
  in.number("last_event", reply.last_event);
  read_rows(in, "events", reply.events, kMaxRows, now);
  if (in.has("snapshot")) {
    in.object("snapshot", reply.snapshot.emplace(),
              [now](Fields& fields, Snapshot& snapshot) { read(fields, snapshot, now); });
  }
}

}  // namespace

AQUA_WIRE_MESSAGE(Snapshot, kMaxReplyBytes)
AQUA_WIRE_MESSAGE(WatchReply, kMaxReplyBytes)

}  // namespace aqua::wire
