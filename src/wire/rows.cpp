// SPDX-License-Identifier: Apache-2.0
#include "wire/rows.hpp"

#include <algorithm>

#include "wire/error.hpp"
#include "wire/names.hpp"

namespace aqua::wire {

using ledger::Time;

void write_duration(Json& out, const char* name, Time duration) {
  out[name] = static_cast<std::uint64_t>(std::max<Time::rep>(duration.count(), 0));
}
void read_duration(Fields& in, const char* name, Time& duration) {
  std::uint64_t count = 0;
  in.number(name, count, 0, kMaxDurationMs);
  duration = Time{static_cast<Time::rep>(count)};
}
void write_time(Json& out, const char* name, Time time, Time now) {
  // Compared before subtracting: "never" is the largest Time there is.
  constexpr Time kFarthest{static_cast<Time::rep>(kMaxDistanceMs)};
  const Time distance = time <= now ? Time{0} : time >= now + kFarthest ? kFarthest : time - now;
  out[name] = static_cast<std::uint64_t>(distance.count());
}
void read_time(Fields& in, const char* name, Time& time, Time now) {
  std::uint64_t count = 0;
  in.number(name, count, 0, kMaxDistanceMs);
  time = now + Time{static_cast<Time::rep>(count)};
}

void write_row(Json& out, const ledger::SlabId& id, Time) {
  out["producer"] = to_string(id.producer);
  out["index"] = id.index;
}
void read_row(Fields& in, ledger::SlabId& id, Time) {
  in.id("producer", id.producer);
  in.number("index", id.index);
}

void write_row(Json& out, const ledger::ClientInfo& info, Time) {
  out["id"] = to_string(info.id);
  out["name"] = info.name;
  out["device"] = to_string(info.device);
  out["device_name"] = info.device_name;
  out["server"] = info.server;
  out["domain"] = info.domain;
  out["exchange"] = info.exchange;
  out["producer"] = info.producer;
  out["consumer"] = info.consumer;
  out["pid"] = static_cast<std::uint64_t>(std::max<std::int64_t>(info.pid, 0));
}
void read_row(Fields& in, ledger::ClientInfo& info, Time) {
  in.id("id", info.id);
  in.text("name", info.name);
  in.id("device", info.device);
  in.text("device_name", info.device_name);
  in.text("server", info.server);
  in.text("domain", info.domain);
  in.text("exchange", info.exchange, kMaxPath);
  in.flag("producer", info.producer);
  in.flag("consumer", info.consumer);
  if (in.has("pid")) {
    std::uint32_t pid = 0;
    in.number("pid", pid);
    info.pid = pid;
  }
}

void write_row(Json& out, const ledger::OfferedSlab& slab, Time) {
  out["index"] = slab.index;
  out["bytes"] = slab.bytes;
  out["generation"] = slab.generation;
  out["secret"] = to_string(slab.secret);
  if (slab.holder) out["holder"] = to_string(*slab.holder);
}
void read_row(Fields& in, ledger::OfferedSlab& slab, Time) {
  in.number("index", slab.index);
  in.number("bytes", slab.bytes, 1);
  in.number("generation", slab.generation, 1);
  in.id("secret", slab.secret);
  in.id("holder", slab.holder);
}

void write_row(Json& out, const ledger::Scrub& scrub, Time) {
  out["index"] = scrub.index;
  out["generation"] = scrub.done;
  out["next_secret"] = to_string(scrub.next_secret);
}
void read_row(Fields& in, ledger::Scrub& scrub, Time) {
  in.number("index", scrub.index);
  in.number("generation", scrub.done, 1);
  in.id("next_secret", scrub.next_secret);
}

void write_row(Json& out, const ledger::Grant& grant, Time now) {
  write_row(out, grant.slab, now);
  out["bytes"] = grant.bytes;
  out["generation"] = grant.generation;
  out["secret"] = to_string(grant.secret);
  out["exchange"] = grant.exchange;
  write_time(out, "expires_in_ms", grant.expires, now);
}
void read_row(Fields& in, ledger::Grant& grant, Time now) {
  read_row(in, grant.slab, now);
  in.number("bytes", grant.bytes);
  in.number("generation", grant.generation, 1);
  in.id("secret", grant.secret);
  in.text("exchange", grant.exchange, kMaxPath);
  read_time(in, "expires_in_ms", grant.expires, now);
}

void write_row(Json& out, const ledger::Slab& slab, Time now) {
  write_row(out, slab.id, now);
  out["bytes"] = slab.bytes;
  out["state"] = to_string(slab.state);
  out["generation"] = slab.generation;
  if (slab.holder) out["holder"] = to_string(*slab.holder);
  out["reclaim"] = slab.reclaim;
  out["late"] = slab.late;
  if (is_alleged(slab)) out["alleged"] = true;
}
void read_row(Fields& in, ledger::Slab& slab, Time now) {
  read_row(in, slab.id, now);
  in.number("bytes", slab.bytes);
  in.named("state", slab.state, parse_slab_state);
  in.number("generation", slab.generation);
  in.id("holder", slab.holder);
  in.number("reclaim", slab.reclaim);
  in.flag("late", slab.late);
  bool alleged = false;
  if (in.has("alleged")) in.flag("alleged", alleged);
  slab.granted = slab.holder && !alleged ? 1 : 0;  // its real number stays with the ledger
}

void write_row(Json& out, const ledger::LeaseRefusal& refusal, Time now) {
  out["code"] = to_string(refusal.why.code);
  out["detail"] = refusal.why.message;
  write_duration(out, "age_ms", now - refusal.at);
}
void read_row(Fields& in, ledger::LeaseRefusal& refusal, Time now) {
  in.named("code", refusal.why.code, parse_code);
  in.prose("detail", refusal.why.message);
  std::uint64_t age = 0;
  in.number("age_ms", age, 0, kMaxDistanceMs);
  refusal.at = now - Time{static_cast<Time::rep>(age)};
}

void write_row(Json& out, const ledger::Client& client, Time now) {
  write_row(out, client.info, now);
  out["state"] = to_string(client.state);
  write_time(out, "expires_in_ms", client.expires, now);
  write_time(out, "leases_expire_in_ms", client.leases_expire, now);
  out["draining"] = client.draining;
  if (client.refused) write_row(out["refused"], *client.refused, now);
}
void read_row(Fields& in, ledger::Client& client, Time now) {
  read_row(in, client.info, now);
  in.named("state", client.state, parse_client_state);
  read_time(in, "expires_in_ms", client.expires, now);
  read_time(in, "leases_expire_in_ms", client.leases_expire, now);
  in.flag("draining", client.draining);
  if (in.has("refused")) {
    in.object("refused", client.refused.emplace(),
              [now](Fields& fields, ledger::LeaseRefusal& row) { read_row(fields, row, now); });
  }
}

void write_row(Json& out, const ledger::Reclaim& reclaim, Time now) {
  out["id"] = reclaim.id;
  out["producer"] = to_string(reclaim.producer);
  out["bytes_wanted"] = reclaim.bytes_wanted;
  out["bytes_returned"] = reclaim.bytes_returned;
  write_time(out, "deadline_in_ms", reclaim.deadline, now);
  write_duration(out, "age_ms", now - reclaim.started);
  out["done"] = reclaim.done;
  write_duration(out, "took_ms", reclaim.done ? reclaim.ended - reclaim.started : Time{0});
  write_rows(out, "outstanding", reclaim.outstanding, now);
}
void read_row(Fields& in, ledger::Reclaim& reclaim, Time now) {
  in.number("id", reclaim.id);
  in.id("producer", reclaim.producer);
  in.number("bytes_wanted", reclaim.bytes_wanted);
  in.number("bytes_returned", reclaim.bytes_returned);
  read_time(in, "deadline_in_ms", reclaim.deadline, now);
  std::uint64_t age = 0;
  in.number("age_ms", age, 0, kMaxDistanceMs);
  reclaim.started = now - Time{static_cast<Time::rep>(age)};
  in.flag("done", reclaim.done);
  std::uint64_t took = 0;
  in.number("took_ms", took, 0, kMaxDistanceMs);
  reclaim.ended = reclaim.started + Time{static_cast<Time::rep>(took)};
  std::vector<ledger::SlabId> outstanding;
  read_rows(in, "outstanding", outstanding, kMaxRows, now);
  reclaim.outstanding = {outstanding.begin(), outstanding.end()};
}

void write_row(Json& out, const ledger::Event& event, Time now) {
  out["number"] = event.number;
  out["kind"] = to_string(event.kind);
  out["to"] = to_string(event.to);
  write_row(out, event.slab, now);
  out["generation"] = event.generation;
  write_time(out, "deadline_in_ms", event.deadline, now);
  out["reclaim"] = event.reclaim;
}
void read_row(Fields& in, ledger::Event& event, Time now) {
  in.number("number", event.number, 1);
  in.named("kind", event.kind, parse_event_kind);
  in.id("to", event.to);
  read_row(in, event.slab, now);
  in.number("generation", event.generation);
  read_time(in, "deadline_in_ms", event.deadline, now);
  in.number("reclaim", event.reclaim);
}

}  // namespace aqua::wire
