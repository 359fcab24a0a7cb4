// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/carry/keeper_segments.hpp"

#include <algorithm>
#include <utility>

#include "base/step.hpp"
#include "base/try.hpp"
#include "base/wake_event.hpp"

namespace aqua::courier {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostReady = 1;  // segments that are kept for later
// For which a keeper that has no room is given time to free what was given up. Shorter than any
// courier's patience, since who has offered something waits meanwhile.
constexpr std::chrono::milliseconds kFreeing{500};

}  // namespace

Result<KeeperSegments> KeeperSegments::join(const std::string& keeper) {
  AQUA_ASSIGN(SegmentClient segments, SegmentClient::connect(keeper));
  AQUA_ASSIGN(auto joined, segments.call(segment_wire::Join{}));
  if (joined.fds.size() != 1) {
    return Error{Code::invalid_argument, "courier: the keeper's answer has no event"};
  }
  return KeeperSegments(std::move(segments), std::move(joined.fds.front()),
                        joined.reply.name.number);
}

void KeeperSegments::leave() {
  own_.clear();
  if (!segments_.connected() || std::exchange(left_, true)) return;
  (void)segments_.call(segment_wire::Leave{});
}

Result<void> KeeperSegments::clear_news() {
  clear_event(wake_.get());
  AQUA_ASSIGN(const auto answer, segments_.call(segment_wire::Returned{}, kWithoutEnd));
  for (const std::uint64_t number : answer.reply.numbers) {
    if (own_.contains(number)) ready_.push_back(number);
  }
  return keep_ready(kMostReady);
}

Result<void> KeeperSegments::watch() {
  AQUA_TRY(segments_.call(segment_wire::Watch{}, kWithoutEnd));
  return {};
}

Result<MappedFile> KeeperSegments::read(const SegmentName& name) {
  AQUA_ASSIGN(const auto opened,
              segments_.call(segment_wire::Open{name.number, name.generation}, kWithoutEnd));
  Result<MappedFile> mapped =
      Error{Code::invalid_argument, "courier: the keeper's answer has no memory"};
  if (opened.fds.size() == 1 && name.bytes <= opened.reply.capacity) {
    mapped = MappedFile::map(opened.fds.front().get(), opened.reply.capacity, /*writable=*/false);
  }
  if (!mapped.ok()) (void)close(name);
  return mapped;
}

Result<void> KeeperSegments::close(const SegmentName& name) {
  AQUA_TRY(segments_.call(segment_wire::Close{name.number}, kWithoutEnd));
  return {};
}

Result<bool> KeeperSegments::drop_copy(const SegmentName& name) {
  const auto dropped = segments_.call(
      segment_wire::Drop{.number = name.number, .generation = name.generation, .as_copy = true},
      kWithoutEnd);
  if (dropped.ok()) return true;
  const Code code = dropped.error().code;
  const bool done =
      code == Code::not_found || code == Code::aborted || code == Code::failed_precondition;
  if (done) return true;
  if (code == Code::unavailable && segments_.connected()) return false;
  return dropped.error();
}

Result<void> KeeperSegments::keep_ready(std::size_t most) {
  while (ready_.size() > most) {
    const std::uint64_t number = ready_.front();
    ready_.erase(ready_.begin());
    own_.erase(number);
    AQUA_TRY(segments_.call(segment_wire::GiveUp{number}, kWithoutEnd));
  }
  return {};
}

Result<KeeperSegments::Segment> KeeperSegments::take(std::uint64_t bytes) {
  const auto until = Clock::now() + kFreeing;
  for (;;) {
    AQUA_TRY(clear_news());
    const auto fitting = std::ranges::find_if(
        ready_, [&](std::uint64_t number) { return own_.at(number).bytes().size() >= bytes; });
    if (fitting != ready_.end()) {
      const std::uint64_t number = *fitting;
      ready_.erase(fitting);
      return Segment{number, own_.at(number).bytes()};
    }
    auto reserved = reserve(bytes);
    if (reserved.ok() || reserved.error().code != Code::resource_exhausted) return reserved;
    if (!ready_.empty()) {  // smaller ones, which take the room
      AQUA_TRY(keep_ready(0));
      continue;
    }
    // After a refusal the keeper signals when there is room again.
    AQUA_ASSIGN(const bool woken, segments_.wait_for(wake_.get(), until));
    if (!woken || Clock::now() >= until) return reserved;
  }
}

Result<KeeperSegments::Segment> KeeperSegments::reserve(std::uint64_t bytes) {
  AQUA_ASSIGN(const auto reserved, segments_.call(segment_wire::Reserve{bytes}, kWithoutEnd));
  const std::uint64_t number = reserved.reply.name.number;
  Result<MappedFile> mapped =
      Error{Code::invalid_argument, "courier: the keeper's answer has no memory"};
  if (reserved.fds.size() == 1) {
    mapped = MappedFile::map(reserved.fds.front().get(), reserved.reply.capacity, true);
  }
  if (!mapped.ok()) {
    (void)segments_.call(segment_wire::GiveUp{number}, kWithoutEnd);
    return std::move(mapped).error();
  }
  const auto at = own_.emplace(number, *std::move(mapped)).first;
  return Segment{number, at->second.bytes()};
}

Result<void> KeeperSegments::commit(const segment_wire::Commit& what) {
  step("commit");
  AQUA_TRY(segments_.call(what, kWithoutEnd));
  return {};
}

Result<SegmentName> KeeperSegments::commit_for_good(const segment_wire::Commit& what) {
  step("commit");
  AQUA_ASSIGN(const auto answer, segments_.call(what, kWithoutEnd));
  own_.erase(what.number);
  AQUA_TRY(segments_.call(segment_wire::GiveUp{what.number}, kWithoutEnd));
  return answer.reply.name;
}

}  // namespace aqua::courier
