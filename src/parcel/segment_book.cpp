// SPDX-License-Identifier: Apache-2.0
#include "parcel/segment_book.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua {
namespace {

template <typename... What>
Error refused(Code code, const char* call, const What&... what) {
  return Error{code, concat("segments: ", call, ": ", what...)};
}

}  // namespace

Result<void> SegmentBook::check_member(const char* call, Member member) const {
  const auto known = members_.find(member);
  if (known != members_.end() && !known->second.gone) return {};
  return refused(Code::not_found, call, "the caller has not joined");
}

Result<SegmentBook::At> SegmentBook::written(const char* call, Member member,
                                             SegmentNumber number) {
  AQUA_TRY(check_member(call, member));
  const auto at = segments_.find(number);
  if (at != segments_.end() && at->second.writer == member) return at;
  return refused(Code::not_found, call, "the caller writes no segment ", number);
}

Result<SegmentBook::At> SegmentBook::kept_as(const char* call, SegmentNumber number,
                                             std::uint64_t generation) {
  const auto at = segments_.find(number);
  if (at == segments_.end()) return refused(Code::not_found, call, "there is no segment ", number);
  const std::uint64_t now = at->second.name.generation;
  if (now > generation) {
    return refused(Code::aborted, call, "segment ", number, " is in generation ", now,
                   ", and generation ", generation, " is no more");
  }
  if (now < generation || at->second.state != State::kept) {
    return refused(Code::not_found, call, "nothing is kept of generation ", generation,
                   " of segment ", number);
  }
  return at;
}

Result<void> SegmentBook::join(Member member, const SegmentOwner& owner) {
  if (!members_.emplace(member, Known{owner}).second) {
    return refused(Code::already_exists, "join", "the caller has joined");
  }
  return {};
}

Result<void> SegmentBook::check_room(const char* call, const SegmentOwner& owner, bool process_too,
                                     std::uint64_t bytes) const {
  std::uint64_t all = 0, of_user = 0, of_process = 0;
  for (const auto& [number, segment] : segments_) {
    all += segment.bytes;
    if (segment.owner.user == owner.user) of_user += segment.bytes;
    if (segment.owner == owner) of_process += segment.bytes;
  }
  const auto room = [&](std::uint64_t taken, std::uint64_t most) {
    return most - std::min(taken, most) >= bytes;
  };
  if (!room(all, quota_.bytes) || !room(of_user, quota_.of_user) ||
      (process_too && !room(of_process, quota_.of_process)) ||
      segments_.size() >= quota_.segments) {
    return refused(Code::resource_exhausted, call, bytes, " bytes: ", segments_.size(),
                   " segments of at most ", quota_.segments, " have ", all, " of ", quota_.bytes,
                   ", ", of_user, " of ", quota_.of_user, " for the user, ", of_process, " of ",
                   quota_.of_process, " for the process");
  }
  return {};
}

Result<SegmentNumber> SegmentBook::reserve(Member member, std::uint64_t bytes) {
  AQUA_TRY(check_member("reserve", member));
  if (bytes == 0) return refused(Code::invalid_argument, "reserve", "no bytes");
  const SegmentOwner owner = members_.at(member).owner;
  AQUA_TRY(check_room("reserve", owner, /*process_too=*/true, bytes));
  do ++last_;
  while (segments_.contains(last_));  // one that was restored
  segments_[last_] = {.bytes = bytes, .owner = owner, .writer = member, .name = {.number = last_}};
  return last_;
}

Result<void> SegmentBook::restore(const SegmentName& name, std::uint64_t bytes, std::uint32_t user,
                                  std::optional<SegmentOrigin> copy_of) {
  if (name.bytes > bytes) {
    return refused(Code::invalid_argument, "restore", name.bytes, " bytes in ", bytes);
  }
  if (segments_.contains(name.number)) {
    return refused(Code::already_exists, "restore", "there is a segment ", name.number);
  }
  const SegmentOwner owner{.user = user};
  AQUA_TRY(check_room("restore", owner, /*process_too=*/false, bytes));
  segments_[name.number] = {.state = State::kept,
                            .bytes = bytes,
                            .owner = owner,
                            .name = name,
                            .copy_of = std::move(copy_of)};
  return {};
}

Result<std::uint64_t> SegmentBook::commit(Member member, SegmentNumber number, Parcel parcel,
                                          std::uint64_t bytes, const SegmentDigest& digest,
                                          std::optional<SegmentOrigin> copy_of) {
  AQUA_ASSIGN(const At at, written("commit", member, number));
  Segment& segment = at->second;
  if (segment.state != State::reserved) {
    return refused(Code::failed_precondition, "commit", "segment ", number,
                   segment.state == State::kept ? " is kept" : " has not come back");
  }
  if (bytes > segment.bytes) {
    return refused(Code::invalid_argument, "commit", bytes, " bytes of segment ", number,
                   ", which has ", segment.bytes);
  }
  segment.state = State::kept;
  segment.parcel = parcel;
  segment.name.bytes = bytes;
  segment.name.digest = digest;
  segment.copy_of = std::move(copy_of);
  segment.adopted = false;
  return ++segment.name.generation;
}

Result<SegmentBook::Opened> SegmentBook::open(Member member, SegmentNumber number,
                                              std::uint64_t generation) {
  AQUA_TRY(check_member("open", member));
  AQUA_ASSIGN(const At at, kept_as("open", number, generation));
  if (!at->second.readers.insert(member).second) {
    return refused(Code::already_exists, "open", "the caller reads segment ", number);
  }
  return Opened{at->second.name, at->second.bytes};
}

void SegmentBook::settle(At at, SegmentNumbers& ended) {
  Segment& segment = at->second;
  const bool done = segment.state != State::kept && segment.readers.empty();
  if (done && segment.writer == 0) {
    ended.push_back(at->first);
    segments_.erase(at);
  } else if (done && segment.state == State::left) {
    segment.state = State::returned;
  }
}

Result<SegmentNumbers> SegmentBook::close(Member member, SegmentNumber number, bool adopts) {
  AQUA_TRY(check_member("close", member));
  const auto at = segments_.find(number);
  if (at == segments_.end() || at->second.readers.erase(member) == 0) {
    return refused(Code::not_found, "close", "the caller reads no segment ", number);
  }
  at->second.adopted = at->second.adopted || adopts;
  SegmentNumbers ended;
  settle(at, ended);
  return ended;
}

Result<SegmentNumbers> SegmentBook::drop(SegmentNumber number, std::uint64_t generation) {
  AQUA_ASSIGN(const At at, kept_as("drop", number, generation));
  if (at->second.parcel != 0) {
    return refused(Code::failed_precondition, "drop", "segment ", number, " goes with parcel ",
                   at->second.parcel);
  }
  at->second.state = State::left;
  SegmentNumbers ended;
  settle(at, ended);
  return ended;
}

Result<SegmentNumbers> SegmentBook::drop_copy(SegmentNumber number, std::uint64_t generation) {
  AQUA_ASSIGN(const At at, kept_as("drop", number, generation));
  if (!at->second.copy_of || at->second.adopted) {
    return refused(Code::failed_precondition, "drop", "segment ", number,
                   at->second.copy_of ? " was adopted" : " is no copy");
  }
  if (!at->second.readers.empty()) {
    return refused(Code::unavailable, "drop", "segment ", number, " is read");
  }
  return drop(number, generation);
}

Result<SegmentNumbers> SegmentBook::give_up(Member member, SegmentNumber number) {
  AQUA_ASSIGN(const At at, written("give up", member, number));
  at->second.writer = 0;
  SegmentNumbers ended;
  settle(at, ended);
  return ended;
}

SegmentNumbers SegmentBook::end_parcel(Parcel parcel) {
  SegmentNumbers ended;
  for (auto at = segments_.begin(); parcel != 0 && at != segments_.end();) {
    const auto one = at++;
    if (one->second.parcel != parcel) continue;
    one->second.parcel = 0;
    one->second.state = State::left;
    settle(one, ended);
  }
  return ended;
}

void SegmentBook::let_go(Member member, bool also_read, SegmentNumbers& ended) {
  for (auto at = segments_.begin(); at != segments_.end();) {
    const auto one = at++;
    if (one->second.writer == member) one->second.writer = 0;
    if (also_read) one->second.readers.erase(member);
    settle(one, ended);
  }
}

SegmentNumbers SegmentBook::gone(Member member) {
  SegmentNumbers ended;
  const auto known = members_.find(member);
  if (known == members_.end()) return ended;
  known->second.gone = true;
  let_go(member, /*also_read=*/false, ended);
  return ended;
}

SegmentNumbers SegmentBook::end(Member member) {
  SegmentNumbers ended;
  if (members_.erase(member) != 0) let_go(member, /*also_read=*/true, ended);
  return ended;
}

Result<SegmentNumbers> SegmentBook::take_returned(Member member, std::size_t most) {
  AQUA_TRY(check_member("returned", member));
  SegmentNumbers numbers;
  for (auto& [number, segment] : segments_) {
    if (numbers.size() == most) break;
    if (segment.writer != member || segment.state != State::returned) continue;
    segment.state = State::reserved;
    numbers.push_back(number);
  }
  return numbers;
}

SegmentName SegmentBook::of_parcel(Parcel parcel) const {
  const auto found = std::find_if(segments_.begin(), segments_.end(), [&](const auto& one) {
    return parcel != 0 && one.second.parcel == parcel;
  });
  return found == segments_.end() ? SegmentName{} : found->second.name;
}

std::set<SegmentBook::Member> SegmentBook::returned_to() const {
  std::set<Member> members;
  for (const auto& [number, segment] : segments_) {
    if (segment.state == State::returned) members.insert(segment.writer);
  }
  return members;
}

bool SegmentBook::reads(Member member) const {
  return std::any_of(segments_.begin(), segments_.end(),
                     [&](const auto& one) { return one.second.readers.contains(member); });
}

SegmentCounts SegmentBook::counts() const {
  SegmentCounts counts{.segments = segments_.size()};
  for (const auto& [number, segment] : segments_) {
    counts.bytes += segment.bytes;
    ++(segment.state == State::kept   ? counts.kept
       : segment.state == State::left ? counts.left
                                      : counts.reserved);
  }
  return counts;
}

std::vector<SegmentStatus> SegmentBook::kept(SegmentNumber from, std::size_t most) const {
  std::vector<SegmentStatus> rows;
  for (auto at = segments_.lower_bound(from); at != segments_.end() && rows.size() < most; ++at) {
    const Segment& segment = at->second;
    if (segment.state != State::kept) continue;
    rows.push_back({.name = segment.name,
                    .capacity = segment.bytes,
                    .parcel = segment.parcel,
                    .has_writer = segment.writer != 0,
                    .readers = static_cast<std::uint32_t>(segment.readers.size()),
                    .copy_of = segment.copy_of});
  }
  return rows;
}

}  // namespace aqua
