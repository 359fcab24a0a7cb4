// SPDX-License-Identifier: Apache-2.0
#include "parcel/block_queue.hpp"

#include <algorithm>
#include <utility>

namespace aqua {
namespace {

constexpr std::uint64_t kMostBetween = std::uint64_t{1} << 40;  // blocks between turns

}  // namespace

std::uint32_t BlockQueue::grant(MemberNumber member, std::uint32_t most, std::uint32_t least,
                                const Pool& pool) {
  Line line{pool.free, pool.blocks};
  bool is_ahead = true, alone = true;
  std::vector<Waiter*> ahead;
  for (Waiter& waiter : waiters_) {
    if (waiter.member == member) {
      is_ahead = waiter.least == 0;  // who only waited for its reserve has no place in the line
      continue;
    }
    if (!holds_up(waiter, pool)) continue;
    alone = false;
    if (!is_ahead) continue;
    (void)join(line, waiter, pool);
    if (!waiter.turn) ahead.push_back(&waiter);
  }
  const std::uint32_t there = std::min(line.free, pool.allowed(member));
  std::uint32_t granted = 0;
  if (least <= there && least <= line.least) granted = std::min(most, alone ? there : least);
  for (Waiter* const waiter : ahead) {
    if (least <= there && least > waiter->left) waiter->turn = pool.now;
    waiter->left -= granted;
  }
  if (granted < least) {
    wait(member, least - granted, pool);
  } else {
    forget(member);
    if (granted < most) wait(member, 0, pool);
  }
  return granted;
}

std::vector<MemberNumber> BlockQueue::take_served(const Pool& pool) {
  std::vector<MemberNumber> served;
  const auto tell = [&](Waiter& waiter) {
    if (!std::exchange(waiter.told, true)) served.push_back(waiter.member);
  };
  Line line{pool.free, pool.blocks};
  bool alone = true;
  for (Waiter& waiter : waiters_) {
    if (!holds_up(waiter, pool)) continue;
    alone = false;
    if (join(line, waiter, pool)) tell(waiter);
  }
  if (!alone || pool.free == 0) return served;
  for (Waiter& waiter : waiters_) {
    if (waiter.least == 0 && pool.allowed(waiter.member) != 0) tell(waiter);
  }
  return served;
}

void BlockQueue::forget(MemberNumber member) {
  std::erase_if(waiters_, [&](const Waiter& waiter) { return waiter.member == member; });
}

bool BlockQueue::holds_up(const Waiter& waiter, const Pool& pool) {
  return waiter.least != 0 && waiter.least <= pool.allowed(waiter.member);
}

bool BlockQueue::join(Line& line, Waiter& waiter, const Pool& pool) {
  if (waiter.turn && pool.now - *waiter.turn >= kTurn) {
    waiter.turn.reset();
    waiter.between = std::min(2 * waiter.between, kMostBetween);
    waiter.left = waiter.between;
  }
  const bool served = waiter.least <= line.free && waiter.least <= line.least;
  if (served && !waiter.told) waiter.turn = pool.now;
  if (served && waiter.turn) {
    line.free -= waiter.least;
  } else {
    line.least = std::min(line.least, waiter.turn ? 0 : waiter.left);
  }
  return served;
}

void BlockQueue::wait(MemberNumber member, std::uint32_t least, const Pool& pool) {
  const auto known = std::ranges::find(waiters_, member, &Waiter::member);
  if (known != waiters_.end() && known->least != 0 && least != 0) {
    known->least = least;
    known->told = false;
    return;
  }
  forget(member);
  waiters_.push_back(
      {.member = member, .least = least, .between = pool.blocks, .left = pool.blocks});
}

}  // namespace aqua
