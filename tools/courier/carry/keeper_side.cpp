// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/carry/keeper_side.hpp"

#include <algorithm>
#include <utility>

#include "base/step.hpp"
#include "base/try.hpp"
#include "base/wake_event.hpp"

namespace aqua::courier {
namespace {

constexpr std::size_t kMostReady = 1;  // segments that are kept for later
// The keeper may be stopped, which is not the end of it; when it ends, the call does too.
constexpr std::chrono::hours kWithoutEnd{24 * 365};

}  // namespace

Result<KeeperSide> KeeperSide::join(const std::string& keeper, const std::string& pool,
                                    const std::string& role,
                                    const std::optional<ParcelBook::Courier>& courier) {
  AQUA_ASSIGN(PoolClient parcels, PoolClient::connect(keeper));
  AQUA_ASSIGN(UniqueFd pool_wake, parcels.join_segments(pool, role, courier));
  AQUA_ASSIGN(SegmentClient segments, SegmentClient::connect(keeper));
  AQUA_ASSIGN(auto joined, segments.call(segment_wire::Join{}));
  if (joined.fds.size() != 1) {
    return Error{Code::invalid_argument, "courier: the keeper's answer has no event"};
  }
  return KeeperSide(std::move(parcels), std::move(pool_wake), std::move(segments),
                    std::move(joined.fds.front()));
}

KeeperSide::~KeeperSide() {
  own_.clear();
  if (pool_.connected()) (void)pool_.call(pool_wire::Leave{});
  if (segments_.connected()) (void)segments_.call(segment_wire::Leave{});
}

Result<pool_wire::PoolReply> KeeperSide::ask(const pool_wire::PoolRequest& request) {
  AQUA_ASSIGN(auto answer, pool_.call(request, {}, kWithoutEnd));
  return std::move(answer.reply);
}

std::vector<int> KeeperSide::descriptors() const {
  return {wake_.get(), pool_.descriptor(), segment_wake_.get(), segments_.descriptor()};
}

Result<void> KeeperSide::clear_news() {
  clear_event(wake_.get());
  return hear_returned();
}

Result<MappedFile> KeeperSide::read(const SegmentName& name) {
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

Result<void> KeeperSide::close(const SegmentName& name) {
  AQUA_TRY(segments_.call(segment_wire::Close{name.number}, kWithoutEnd));
  return {};
}

Result<void> KeeperSide::hear_returned() {
  clear_event(segment_wake_.get());
  if (own_.empty()) return {};
  AQUA_ASSIGN(const auto answer, segments_.call(segment_wire::Returned{}, kWithoutEnd));
  for (const std::uint64_t number : answer.reply.numbers) {
    if (own_.contains(number)) ready_.push_back(number);
  }
  return keep_ready(kMostReady);
}

Result<void> KeeperSide::keep_ready(std::size_t most) {
  while (ready_.size() > most) {
    const std::uint64_t number = ready_.front();
    ready_.erase(ready_.begin());
    own_.erase(number);
    AQUA_TRY(segments_.call(segment_wire::GiveUp{number}, kWithoutEnd));
  }
  return {};
}

Result<KeeperSide::Segment> KeeperSide::take(std::uint64_t bytes) {
  AQUA_TRY(hear_returned());
  const auto fitting = std::ranges::find_if(
      ready_, [&](std::uint64_t number) { return own_.at(number).bytes().size() >= bytes; });
  if (fitting != ready_.end()) {
    const std::uint64_t number = *fitting;
    ready_.erase(fitting);
    return Segment{number, own_.at(number).bytes()};
  }
  auto reserved = reserve(bytes);
  if (reserved.ok() || reserved.error().code != Code::resource_exhausted) return reserved;
  AQUA_TRY(keep_ready(0));  // smaller ones, which take the room
  return reserve(bytes);
}

Result<KeeperSide::Segment> KeeperSide::reserve(std::uint64_t bytes) {
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

Result<void> KeeperSide::commit(std::uint64_t number, const SegmentName& as, std::uint64_t parcel) {
  step("commit");
  AQUA_TRY(segments_.call(segment_wire::Commit{number, as.bytes, as.digest, parcel}, kWithoutEnd));
  return {};
}

}  // namespace aqua::courier
