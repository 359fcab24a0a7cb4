// SPDX-License-Identifier: Apache-2.0
#include "handoff/segment_taker.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua {

std::vector<Parcel> SegmentTaker::accept(std::size_t most) {
  const MutexLock lock(mu_);
  const auto untold = static_cast<std::size_t>(
      std::ranges::count_if(taken_, [](const auto& one) { return !one.second.told; }));
  if (untold < most) {
    for (Parcel& parcel : parcels_.accept(most - untold)) {
      const std::uint64_t number = parcel.number;
      taken_[number].parcel = std::move(parcel);
    }
  }
  hear();
  std::vector<Parcel> parcels;
  for (auto& [number, taken] : taken_) {
    if (parcels.size() == most) break;
    if (taken.told || taken.superseded || (!taken.opened && !taken.error)) continue;
    taken.told = true;
    parcels.push_back(taken.parcel);
  }
  return parcels;
}

void SegmentTaker::drop_continued() {
  for (auto at = taken_.begin(); at != taken_.end();) {
    if (!parcels_.is_continued(at->second.parcel)) {
      ++at;
      continue;
    }
    auto mark = StreamMark::create(runtime_);
    if (!mark.ok()) return;  // next time
    const Parcel& parcel = at->second.parcel;
    if (at->second.opened) close(parcel.segment.number, std::move(*mark));
    if (!at->second.told) (void)parcels_.admit(parcel.from, 1);
    at = taken_.erase(at);
  }
}

void SegmentTaker::drop_superseded() {
  for (auto at = taken_.begin(); at != taken_.end();) {
    const auto& [number, taken] = *at;
    const auto next = std::next(at);
    if (taken.superseded && !taken.told) {
      auto read = StreamMark::create(runtime_), done = StreamMark::create(runtime_);
      if (!read.ok() || !done.ok()) return;  // next time
      // It may have ended as it was handed on: drop_continued() sees to that.
      if (parcels_.finish(number, std::move(*done)).ok()) {
        if (taken.opened) close(taken.parcel.segment.number, std::move(*read));
        (void)parcels_.admit(taken.parcel.from, 1);
        taken_.erase(at);
      }
    }
    at = next;
  }
}

void SegmentTaker::hear() {
  drop_continued();
  drop_superseded();
  for (const OpenedSegment& opened : segments_.opened()) hear(opened);
  for (auto& [number, taken] : taken_) {
    if (!taken.opened && !taken.reading && !taken.error) begin(taken);
  }
}

void SegmentTaker::begin(Taken& taken) {
  taken.error.reset();
  if (taken.parcel.segment.number == 0) {
    taken.error = Error{Code::invalid_argument, "it has no segment"};
    return;
  }
  const auto asked = segments_.read(taken.parcel.segment);
  taken.reading = asked.ok();
  // It may be read still by this process, which has taken and finished it before: later then.
  if (!asked.ok() && asked.error().code != Code::already_exists) taken.error = asked.error();
}

void SegmentTaker::hear(const OpenedSegment& opened) {
  const auto found = std::ranges::find_if(taken_, [&](const auto& one) {
    return one.second.reading && one.second.parcel.segment.number == opened.name.number;
  });
  if (found == taken_.end()) {  // it was superseded meanwhile
    auto mark = StreamMark::create(runtime_);
    if (!opened.error && mark.ok()) close(opened.name.number, std::move(*mark));
    return;
  }
  Taken& taken = found->second;
  taken.reading = false;
  taken.error = opened.error;
  if (opened.error) return;
  taken.opened = true;
  auto fills = FillTable::read({opened.segment.address, opened.name.bytes});
  if (fills.ok()) {
    for (const Fill& fill : *fills) taken.fills.emplace(fill.range, fill);
  } else {
    taken.error = fills.error();
  }
}

Result<SegmentTaker::Taken*> SegmentTaker::find_told(const char* call, std::uint64_t number) {
  const auto found = taken_.find(number);
  if (found != taken_.end() && found->second.told) return &found->second;
  return Error{Code::not_found, concat(call, ": no parcel ", number, " is this member's")};
}

Result<SegmentTaker::Taken*> SegmentTaker::find_landable(std::uint64_t number) {
  AQUA_ASSIGN(Taken * taken, find_told("land", number));
  if (!taken->opened) {
    hear();
    AQUA_ASSIGN(taken, find_told("land", number));  // it may have been handed on
  }
  if (!taken->opened && !taken->error) {
    return Error{Code::unavailable, concat("land: parcel ", number, " is being mapped")};
  }
  if (taken->error) {
    const Error why = *taken->error;
    if (!taken->opened) begin(*taken);  // there may be memory for it next time
    return Error{why.code, concat("land: parcel ", number, ": ", why.message)};
  }
  return taken;
}

Result<SegmentTaker::Landable> SegmentTaker::find_fill(std::uint64_t number, const KvRange& filled,
                                                       std::size_t blocks, const KvRange& at) {
  AQUA_ASSIGN(Taken* const taken, find_landable(number));
  const auto found = taken->fills.find(filled);
  if (found == taken->fills.end()) {
    return Error{Code::invalid_argument,
                 concat("land: nothing of parcel ", number, " was filled so")};
  }
  const Fill& fill = found->second;
  AQUA_ASSIGN(const std::size_t bytes, layout_.packed_bytes(blocks, at));
  if (bytes != fill.bytes) {
    return Error{Code::invalid_argument, concat("land: ", fill.bytes, " bytes of parcel ", number,
                                                " were filled so, and not ", bytes)};
  }
  return Landable{fill, taken->parcel.segment.number};
}

Result<void> SegmentTaker::check_landable(std::uint64_t number, const KvRange& filled,
                                          BlockList into, const KvRange& at) {
  const MutexLock lock(mu_);
  AQUA_TRY(find_fill(number, filled, into.size(), at));
  return layout_.check(into);
}

Result<Ticket> SegmentTaker::land(std::uint64_t number, const KvRange& filled, BlockList into,
                                  const KvRange& at, Stream stream) {
  const MutexLock lock(mu_);
  AQUA_ASSIGN(const Landable from, find_fill(number, filled, into.size(), at));
  AQUA_ASSIGN(const auto read, segments_.opened(from.segment));
  return read.memory->scatter(from.fill.offset, layout_, into, at, stream);
}

Result<void> SegmentTaker::confirm(std::uint64_t number) {
  const MutexLock lock(mu_);
  AQUA_TRY(find_told("confirm", number));
  return parcels_.confirm(number);
}

Result<void> SegmentTaker::finish(std::uint64_t number, std::optional<Stream> stream,
                                  ParcelEvent what) {
  const MutexLock lock(mu_);
  AQUA_ASSIGN(Taken* const taken, find_told("finish", number));
  AQUA_ASSIGN(StreamMark read, StreamMark::create(runtime_));
  AQUA_ASSIGN(StreamMark done, StreamMark::create(runtime_));
  if (stream) {
    AQUA_TRY(read.set(*stream));
    AQUA_TRY(done.set(*stream));
  }
  AQUA_TRY(parcels_.finish(number, std::move(done), what));
  if (taken->opened) close(taken->parcel.segment.number, std::move(read));
  taken_.erase(number);
  return {};
}

std::vector<std::uint64_t> SegmentTaker::superseded() {
  const MutexLock lock(mu_);
  drop_continued();
  std::vector<std::uint64_t> told;
  for (const std::uint64_t number : parcels_.superseded()) {
    const auto found = taken_.find(number);
    if (found == taken_.end()) continue;
    found->second.superseded = true;
    if (found->second.told) told.push_back(number);
  }
  drop_superseded();
  return told;
}

std::size_t SegmentTaker::taken() const {
  const MutexLock lock(mu_);
  return taken_.size();
}

void SegmentTaker::close(std::uint64_t segment, StreamMark mark) {
  (void)segments_.close(segment, std::move(mark), SegmentAfter::keep);  // it goes with its parcel
}

}  // namespace aqua
