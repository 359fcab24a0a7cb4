// SPDX-License-Identifier: Apache-2.0
#include "handoff/segment_giver.hpp"

#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua {
namespace {

Error not_open(const char* call, std::uint64_t number, const char* why) {
  return Error{Code::failed_precondition, concat(call, ": parcel ", number, " ", why)};
}

Error failed_before(const char* call, std::uint64_t number) {
  return Error{Code::not_found, concat(call, ": parcel ", number, " has failed, which was told")};
}

}  // namespace

Result<std::uint64_t> SegmentGiver::open(const ParcelHead& head, const std::string& role) {
  const MutexLock lock(mu_);
  AQUA_ASSIGN(const std::uint64_t number, parcels_.open(head, role, /*needs_room=*/true));
  given_[number].id = head.id;
  return number;
}

Result<ParcelState> SegmentGiver::state(std::uint64_t number) {
  const MutexLock lock(mu_);
  AQUA_ASSIGN(const ParcelState known, parcels_.state(number));
  const auto found = given_.find(number);
  if (found == given_.end()) return failed_before("state", number);
  if (known != ParcelState::open || found->second.segment) return known;
  const auto segment = segments_.take(segment_bytes_);
  if (!segment.ok()) return ParcelState::reserved;
  found->second.segment = *segment;
  return ParcelState::open;
}

Result<SegmentGiver::Open> SegmentGiver::find_open(const char* call, std::uint64_t number) {
  AQUA_ASSIGN(const std::uint64_t at_keeper, parcels_.keepers_number(call, number));
  const auto found = given_.find(number);
  if (found == given_.end()) return failed_before(call, number);
  Given& given = found->second;
  if (given.closing) return not_open(call, number, "is closed");
  if (!given.segment) return not_open(call, number, "has no segment yet");
  return Open{given, at_keeper};
}

Result<Ticket> SegmentGiver::fill(std::uint64_t number, const KvRange& range, BlockList from,
                                  Stream stream) {
  const MutexLock lock(mu_);
  AQUA_ASSIGN(const Open open, find_open("fill", number));
  Given& given = open.given;
  AQUA_ASSIGN(const std::size_t bytes, layout_.packed_bytes(from.size(), range));
  if (given.ranges.contains(range)) {
    return Error{Code::invalid_argument,
                 concat("fill: parcel ", number, ": this range was filled before")};
  }
  if (given.fills.size() == FillTable::kMostFills) {
    return Error{Code::resource_exhausted,
                 concat("fill: parcel ", number, " has ", FillTable::kMostFills,
                        " ranges, which are the most that a parcel can have")};
  }
  const std::size_t table = FillTable::bytes(given.fills.size() + 1);
  if (given.segment->bytes < given.bytes + table ||
      bytes > given.segment->bytes - given.bytes - table) {
    return Error{Code::resource_exhausted,
                 concat("fill: parcel ", number, " has ", given.bytes, " bytes, and no room for ",
                        bytes, " beside the ", table, " that its table of ", given.fills.size() + 1,
                        " ranges takes, of ", given.segment->bytes, " in all")};
  }
  AQUA_ASSIGN(const auto memory, segments_.taken(given.segment->number));
  const std::uint64_t told = segments_.told_now();
  if (!copies_) {
    AQUA_ASSIGN(copies_, SideStream::create(runtime_));
  }
  // Nothing else would tell of a failure before it on that stream.
  AQUA_ASSIGN(StreamMark mark, StreamMark::create(runtime_, stream));
  AQUA_TRY(copies_->run_after(stream));
  AQUA_ASSIGN(Ticket copies, memory->gather(layout_, from, range, given.bytes, copies_->stream()));
  if (const auto known = given.behind.find(stream); known != given.behind.end()) {
    known->second.mark = std::move(mark);  // `told` stays that of the first fill
  } else {
    given.behind.emplace(stream, SegmentMember::Gathered{std::move(mark), told});
  }
  given.fills.push_back({range, given.bytes, bytes});
  given.ranges.insert(range);
  given.bytes += bytes;
  return copies;
}

Result<void> SegmentGiver::close(std::uint64_t number, std::uint32_t tokens, std::string note,
                                 Stream stream) {
  const MutexLock lock(mu_);
  AQUA_ASSIGN(const Open open, find_open("close", number));
  Given& given = open.given;
  AQUA_TRY(check_parcel("close", {.id = given.id, .note = note}));
  AQUA_ASSIGN(StreamMark mark, StreamMark::create(runtime_, stream));
  AQUA_ASSIGN(StreamMark reached, StreamMark::create(runtime_));
  const std::size_t table = FillTable::bytes(given.fills.size());
  FillTable::write({given.segment->address + given.bytes, table}, given.fills);
  std::vector<SegmentMember::Gathered> gathered;
  for (auto& [of, behind] : given.behind) gathered.push_back(std::move(behind));
  given.behind.clear();
  AQUA_TRY(segments_.commit(given.segment->number, given.bytes + table, std::move(mark),
                            open.at_keeper, std::move(gathered)));
  committing_[given.segment->number] = number;
  given.closing = true;
  given.tokens = tokens;
  given.note = std::move(note);
  given.reached = std::move(reached);
  return {};
}

void SegmentGiver::await_copies() {
  const MutexLock lock(mu_);
  if (copies_) (void)copies_->wait();  // what failed its ticket tells, and close()
}

void SegmentGiver::committed() {
  const MutexLock lock(mu_);
  for (const SegmentName& name : segments_.well_committed()) close_parcel(name.number);
}

void SegmentGiver::close_parcel(std::uint64_t segment) {
  const auto committing = committing_.find(segment);
  if (committing == committing_.end()) return;
  const std::uint64_t number = committing->second;
  committing_.erase(committing);
  const auto found = given_.find(number);
  if (found == given_.end()) return;  // it has ended, and the segment with it
  Given& given = found->second;
  // Where it fails the parcel has ended, which deliveries() tells.
  (void)parcels_.close(number, {.tokens = given.tokens, .note = std::move(given.note)},
                       std::move(*given.reached));
}

std::vector<Delivery> SegmentGiver::deliveries() {
  const MutexLock lock(mu_);
  std::vector<Delivery> all;
  for (Delivery& told : parcels_.deliveries()) {
    drop(told.number);
    if (failed_.erase(told.number) == 0) all.push_back(std::move(told));
  }
  for (const CommittedSegment& one : segments_.committed()) {
    if (!one.error) {
      close_parcel(one.name.number);
      continue;
    }
    give_back(one.name.number);  // what the keeper has refused is gone
    const auto committing = committing_.find(one.name.number);
    if (committing == committing_.end()) continue;
    const std::uint64_t number = committing->second;
    committing_.erase(committing);
    if (given_.erase(number) == 0) continue;
    failed_.insert(number);  // whether or not it can be recalled, its last word is still to come
    (void)parcels_.recall(number);
    all.push_back({.number = number,
                   .outcome = Delivery::Outcome::refused,
                   .returned = true,
                   .error = *one.error});
  }
  return all;
}

std::size_t SegmentGiver::giving() const {
  const MutexLock lock(mu_);
  return given_.size();
}

void SegmentGiver::drop(std::uint64_t number) {
  const auto found = given_.find(number);
  if (found == given_.end()) return;
  if (found->second.segment && !found->second.closing) give_back(found->second.segment->number);
  given_.erase(found);
}

// Behind what was gathered into it.
void SegmentGiver::give_back(std::uint64_t segment) {
  auto mark = StreamMark::create(runtime_);
  if (mark.ok()) (void)segments_.release(segment, std::move(*mark));
}

}  // namespace aqua
