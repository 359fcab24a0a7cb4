// SPDX-License-Identifier: Apache-2.0
#include "wire/observation.hpp"

#include <algorithm>

#include "wire/limits.hpp"
#include "wire/message.hpp"
#include "wire/names.hpp"
#include "wire/rows.hpp"

namespace aqua::wire {
namespace {

using ledger::Time;

void write_age(Json& out, Time at, Time now) {
  write_duration(out, "age_ms", now - at);
}
void read_age(Fields& in, Time& at, Time now) {
  std::uint64_t age = 0;
  in.number("age_ms", age, 0, kMaxDistanceMs);
  at = now - Time{static_cast<Time::rep>(age)};
}

}  // namespace

void write_row(Json& out, const StoryEntry& entry, Time now) {
  write_age(out, entry.at, now);
  out["event"] = entry.event;
  out["from"] = to_string(entry.from);
  out["to"] = to_string(entry.to);
  out["generation"] = entry.generation;
  if (entry.holder) out["holder"] = to_string(*entry.holder);
  out["holder_name"] = entry.holder_name;
  out["holder_pid"] = static_cast<std::uint64_t>(std::max<std::int64_t>(entry.holder_pid, 0));
  out["reclaim"] = entry.reclaim;
}
void read_row(Fields& in, StoryEntry& entry, Time now) {
  read_age(in, entry.at, now);
  in.text("event", entry.event);
  in.named("from", entry.from, parse_slab_state);
  in.named("to", entry.to, parse_slab_state);
  in.number("generation", entry.generation);
  in.id("holder", entry.holder);
  in.text("holder_name", entry.holder_name);
  std::uint32_t pid = 0;
  in.number("holder_pid", pid);
  entry.holder_pid = pid;
  in.number("reclaim", entry.reclaim);
}

void write_row(Json& out, const Sample& sample, Time now) {
  write_age(out, sample.at, now);
  out["offered"] = sample.offered;
  out["leased"] = sample.leased;
  out["suspect"] = sample.suspect;
  out["revoking"] = sample.revoking;
  out["orphaned"] = sample.orphaned;
  out["quarantined"] = sample.quarantined;
}
void read_row(Fields& in, Sample& sample, Time now) {
  read_age(in, sample.at, now);
  in.number("offered", sample.offered);
  in.number("leased", sample.leased);
  in.number("suspect", sample.suspect);
  in.number("revoking", sample.revoking);
  in.number("orphaned", sample.orphaned);
  in.number("quarantined", sample.quarantined);
}

namespace {

void write(Json& out, const SlabStory& story, Time now) {
  out["epoch"] = to_string(story.epoch);
  write_row(out, story.slab, now);
  out["bytes"] = story.bytes;
  out["forgotten"] = story.forgotten;
  write_rows(out, "events", story.entries, now);
}
void read(Fields& in, SlabStory& story, Time now) {
  in.id("epoch", story.epoch);
  read_row(in, story.slab, now);
  in.number("bytes", story.bytes);
  in.number("forgotten", story.forgotten);
  in.objects("events", story.entries, kMaxRows,
             [now](Fields& fields, StoryEntry& entry) { read_row(fields, entry, now); });
}

void write(Json& out, const History& history, Time now) {
  out["epoch"] = to_string(history.epoch);
  write_rows(out, "samples", history.samples, now);
}
void read(Fields& in, History& history, Time now) {
  in.id("epoch", history.epoch);
  in.objects("samples", history.samples, kMaxRows,
             [now](Fields& fields, Sample& sample) { read_row(fields, sample, now); });
}

void write(Json& out, const RecallRequest& request, Time) {
  out["producer"] = to_string(request.producer);
  out["bytes"] = request.bytes;
  write_duration(out, "within_ms", request.within);
}
void read(Fields& in, RecallRequest& request, Time) {
  in.id("producer", request.producer);
  in.number("bytes", request.bytes);
  read_duration(in, "within_ms", request.within);
}

void write(Json& out, const DrainRequest& request, Time) {
  out["client"] = to_string(request.client);
  write_duration(out, "within_ms", request.within);
}
void read(Fields& in, DrainRequest& request, Time) {
  in.id("client", request.client);
  read_duration(in, "within_ms", request.within);
}

}  // namespace

AQUA_WIRE_MESSAGE(SlabStory, kMaxReplyBytes)
AQUA_WIRE_MESSAGE(History, kMaxReplyBytes)
AQUA_WIRE_MESSAGE(RecallRequest, kMaxRequestBytes)
AQUA_WIRE_MESSAGE(DrainRequest, kMaxRequestBytes)

}  // namespace aqua::wire
