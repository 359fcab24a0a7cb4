// SPDX-License-Identifier: Apache-2.0
#include "stream/segment_carrier.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "must.hpp"
#include "stream/fill_table.hpp"
#include "stream/segment_note.hpp"

namespace aqua::pipeline {
namespace {

using example::must;
using kv_stream::Carried;
using kv_stream::CarriedParcel;

constexpr std::size_t kPoolBytes = std::size_t{2} << 20;  // the least; nothing lies there
constexpr std::size_t kAtATime = 64;                      // parcels that are accepted
constexpr std::string_view kRoom = "room ", kLanded = "landed ";

Error no_parcel(std::uint64_t number) {
  return {Code::not_found, "there is no parcel " + std::to_string(number)};
}

}  // namespace

SegmentCarrier::SegmentCarrier(Runtime& runtime, const Layout& layout,
                               const SegmentCarrierOptions& options)
    : layout_(layout),
      options_(options),
      pool_(must(KvPool::attach(runtime, {.name = "streams",
                                          .role = options.role,
                                          .shape = {.layers = 1,
                                                    .planes_per_layer = 1,
                                                    .plane_block_bytes = kPoolBytes,
                                                    .tokens_per_block = 1,
                                                    .blocks = 1},
                                          .slab_bytes = kPoolBytes,
                                          .reserve = 0,
                                          .keeper = options.keeper}),
                 "streams")),
      segments_(must(Segments::open(runtime, {.segment_bytes = options.parcel_bytes + kTableBytes,
                                              .keeper = options.keeper}),
                     "segments")) {}

Result<SegmentCarrier::Given*> SegmentCarrier::given(std::uint64_t number) {
  const auto found = given_.find(number);
  if (found == given_.end()) return no_parcel(number);
  if (found->second.error) return *found->second.error;
  return &found->second;
}

Result<SegmentCarrier::Taken*> SegmentCarrier::taken(std::uint64_t number) {
  const auto found = taken_.find(number);
  if (found == taken_.end()) return no_parcel(number);
  return &found->second;
}

// --- giving ---------------------------------------------------------------------------------

Result<std::uint64_t> SegmentCarrier::open(const std::string& id, std::uint64_t turn,
                                           const std::string& role, bool has_room) {
  Given& made = given_[++last_];
  made.parcel.id = id;
  made.parcel.turn = turn;
  made.role = role;
  made.has_room = has_room;
  return last_;
}

Result<Carried> SegmentCarrier::state(std::uint64_t number) {
  settle();
  const auto found = given(number);
  if (!found.ok()) return found.error();
  return (*found)->state;
}

Result<void> SegmentCarrier::fill(std::uint64_t number, const KvRange& range, BlockList blocks,
                                  Stream stream) {
  const auto found = given(number);
  if (!found.ok()) return found.error();
  Given& parcel = **found;
  const auto bytes = layout_.packed_bytes(blocks.size(), range);
  if (!bytes.ok()) return bytes.error();
  if (parcel.state != Carried::open || parcel.fills.size() == kMostFills ||
      *bytes > options_.parcel_bytes - parcel.bytes)
    return Error{Code::resource_exhausted, "a parcel has no more room, or is not open"};
  const auto gathered = segments_.gather(parcel.segment->number, kTableBytes + parcel.bytes,
                                         layout_, blocks, range, stream);
  if (!gathered.ok()) return gathered.error();
  parcel.fills.push_back({range, kTableBytes + parcel.bytes});
  parcel.bytes += *bytes;
  return {};
}

Result<void> SegmentCarrier::close(std::uint64_t number, std::uint32_t tokens,
                                   const std::string& note, Stream stream) {
  const auto found = given(number);
  if (!found.ok()) return found.error();
  Given& parcel = **found;
  if (parcel.state != Carried::open)
    return Error{Code::failed_precondition, "a parcel that is not open"};
  write_table(parcel.segment->address, parcel.fills);
  parcel.parcel.tokens = tokens;
  parcel.parcel.note = note;
  const auto committed =
      segments_.commit(parcel.segment->number, kTableBytes + parcel.bytes, stream);
  if (!committed.ok()) return committed.error();
  committing_[parcel.segment->number] = number;
  parcel.closing = true;
  return {};
}

Result<void> SegmentCarrier::recall(std::uint64_t number) {
  const auto found = given_.find(number);
  if (found == given_.end()) return {};
  if (found->second.state >= Carried::closed || found->second.closing)
    return Error{Code::failed_precondition, "it is on its way"};
  const Given& parcel = found->second;
  if (parcel.segment) (void)segments_.release(parcel.segment->number, Stream{});
  if (parcel.room != 0) room_[parcel.role].push_back(parcel.room);  // for the next one
  given_.erase(found);
  return {};
}

void SegmentCarrier::forget(std::uint64_t number) {
  const auto found = given_.find(number);
  if (found == given_.end()) return;
  found->second.forgotten = true;
  if (found->second.state >= Carried::closed || found->second.error) given_.erase(found);
}

// A parcel is open once there is room for it at its receiver, and a segment here.
void SegmentCarrier::open_reserved() {
  wants_segment_ = false;
  for (auto& [number, parcel] : given_) {
    if (parcel.state != Carried::reserved) continue;
    auto& promised = room_[parcel.role];
    if (promised.empty() && !parcel.has_room) continue;
    auto segment = segments_.take(kTableBytes + options_.parcel_bytes);
    wants_segment_ = !segment.ok();
    if (wants_segment_) return;
    if (!parcel.has_room) {
      parcel.room = promised.front();
      promised.pop_front();
    }
    parcel.segment = *segment;
    parcel.state = Carried::open;
  }
}

// --- news -----------------------------------------------------------------------------------

void SegmentCarrier::settle() {
  for (Parcel& parcel : pool_.accept(kAtATime)) take_parcel(std::move(parcel));
  hear_of_segments();
  for (const Undelivered& lost : pool_.undelivered()) {
    for (auto& [number, parcel] : given_) {
      if (parcel.parcel.id == lost.parcel.id && parcel.parcel.turn == lost.parcel.turn)
        parcel.error = lost.error;
    }
  }
  open_reserved();
}

void SegmentCarrier::take_parcel(Parcel parcel) {
  if (parcel.id.starts_with(kRoom)) {
    room_[parcel.note].push_back(parcel.number);
    return;
  }
  if (parcel.id.starts_with(kLanded)) {
    for (auto& [number, each] : given_) {
      if (parcel.id.substr(kLanded.size()) == each.parcel.id && each.state == Carried::closed)
        each.state = Carried::confirmed;
    }
    (void)pool_.finish(parcel.number, Stream{});
    return;
  }
  auto note = parse_segment_note(parcel.note);
  if (!note || !segments_.read(note->segment).ok()) {
    (void)pool_.finish(parcel.number, Stream{});
    return;
  }
  opening_[note->segment.number] = parcel.number;
  parcel.note = std::move(note->words);
  taken_[parcel.number] = {std::move(parcel), std::move(note->from), note->segment};
}

void SegmentCarrier::hear_of_segments() {
  for (const CommittedSegment& each : segments_.committed()) {
    const auto found = committing_.find(each.name.number);
    if (found == committing_.end()) continue;
    Given& parcel = given_.at(found->second);
    if (each.error) {
      parcel.error = each.error;
    } else {
      Parcel complete = parcel.parcel;
      complete.note = write_segment_note({each.name, options_.role, complete.note});
      const auto handed = pool_.hand_over(std::move(complete), parcel.role, Stream{});
      if (!handed.ok()) parcel.error = handed.error();
      parcel.state = Carried::closed;
      if (parcel.room != 0) (void)pool_.finish(parcel.room, Stream{});
    }
    if (parcel.forgotten) given_.erase(found->second);
    committing_.erase(found);
  }
  for (const OpenedSegment& each : segments_.opened()) {
    const auto found = opening_.find(each.name.number);
    if (found == opening_.end()) continue;
    if (each.error) {
      (void)pool_.finish(found->second, Stream{});
      taken_.erase(found->second);
    } else {
      taken_.at(found->second).fills = read_table(each.segment.address, each.name.bytes);
      come_.push_back(found->second);
    }
    opening_.erase(found);
  }
}

bool SegmentCarrier::wait(std::chrono::milliseconds patience) {
  settle();
  const bool of_segments = wants_segment_ || !committing_.empty() || !opening_.empty();
  return of_segments ? segments_.wait(patience) : pool_.wait(patience);
}

// --- taking ---------------------------------------------------------------------------------

Result<void> SegmentCarrier::admit(const std::string& from, std::uint32_t parcels) {
  for (std::uint32_t i = 0; i < parcels; ++i) {
    // Each is another one, also of a process that has taken another's place.
    const std::string id = std::string(kRoom) + options_.role + " for " + from + ", " +
                           std::to_string(::getpid()) + "." + std::to_string(++last_room_);
    auto promised = pool_.hand_over({.id = id, .turn = 1, .note = options_.role}, from, Stream{});
    if (!promised.ok()) return promised;
  }
  return {};
}

std::vector<CarriedParcel> SegmentCarrier::accept() {
  settle();
  std::vector<CarriedParcel> all;
  for (const std::uint64_t number : std::exchange(come_, {})) {
    const Parcel& parcel = taken_.at(number).parcel;
    all.push_back({number, parcel.id, parcel.turn, parcel.tokens, parcel.note});
  }
  return all;
}

Result<Ticket> SegmentCarrier::land(std::uint64_t number, const KvRange& filled, BlockList into,
                                    const KvRange& at, Stream stream) {
  const auto found = taken(number);
  if (!found.ok()) return found.error();
  const Taken& parcel = **found;
  const auto fill = std::ranges::find(parcel.fills, filled, &Fill::range);
  if (fill == parcel.fills.end())
    return Error{Code::invalid_argument, "nothing like it is in the parcel"};
  return segments_.scatter(parcel.segment.number, fill->offset, layout_, into, at, stream);
}

Result<void> SegmentCarrier::confirm(std::uint64_t number) {
  const auto found = taken(number);
  if (!found.ok()) return found.error();
  const Parcel& parcel = (*found)->parcel;
  return pool_.hand_over({.id = std::string(kLanded) + parcel.id, .turn = parcel.turn},
                         (*found)->from, Stream{});
}

Result<void> SegmentCarrier::finish(std::uint64_t number, Stream stream) {
  const auto found = taken(number);
  if (!found.ok()) return found.error();
  (void)segments_.close((*found)->segment.number, stream, SegmentAfter::drop);
  taken_.erase(number);
  return pool_.finish(number, stream);
}

}  // namespace aqua::pipeline
