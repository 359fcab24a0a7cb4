// SPDX-License-Identifier: Apache-2.0
// A parcel has blocks from close() on; before that they are its giver's.
#include "parcel/pool_book.hpp"

#include <algorithm>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua {

Result<void> PoolBook::check_member(const char* call, MemberNumber member) const {
  if (parcels_.is_member(member)) return {};
  return Error{Code::not_found, concat(call, ": the caller is no member of the pool")};
}

Result<void> PoolBook::join(MemberNumber member, const std::string& role, std::uint32_t quota) {
  if (quota > blocks()) {
    return Error{Code::invalid_argument,
                 concat("join: a quota of ", quota, " blocks of a pool of ", blocks())};
  }
  if (quota != 0 && quotas_.size() >= kMostQuotas && !quotas_.contains(role)) {
    return Error{Code::resource_exhausted,
                 concat("join: ", quotas_.size(), " roles of the pool have quotas")};
  }
  AQUA_TRY(parcels_.join(member, role));
  if (quota != 0) quotas_.try_emplace(role, quota);
  return {};
}

Result<void> PoolBook::move_quota(const std::string& from, const std::string& to,
                                  std::uint32_t blocks) {
  if (blocks == 0 || from == to) {
    return Error{Code::invalid_argument, concat("move quota: ", blocks, " blocks from role '", from,
                                                "' to role '", to, "'")};
  }
  const auto giving = quotas_.find(from);
  const auto getting = quotas_.find(to);
  if (giving == quotas_.end() || getting == quotas_.end()) {
    return Error{Code::not_found, concat("move quota: role '", giving == quotas_.end() ? from : to,
                                         "' has no quota")};
  }
  if (blocks >= giving->second) {
    return Error{Code::resource_exhausted, concat("move quota: ", blocks, " blocks from role '",
                                                  from, "', which may have ", giving->second)};
  }
  giving->second -= blocks;
  getting->second += blocks;
  return {};
}

std::uint32_t PoolBook::had_by_role(const std::string& role) const {
  std::uint32_t had = 0;
  for (const MemberNumber member : parcels_.members_of(role)) had += blocks_.had_by(member);
  for (const std::uint64_t number : parcels_.had_by_role(role)) had += blocks_.alone_in(number);
  return had;
}

std::uint32_t PoolBook::allowed(MemberNumber member) const {
  const std::string* const role = parcels_.role_of(member);
  if (role == nullptr) return 0;
  const auto quota = quotas_.find(*role);
  if (quota == quotas_.end()) return blocks() - blocks_.had_by(member);
  return quota->second - std::min(quota->second, had_by_role(*role));
}

BlockQueue::Pool PoolBook::as_of(BlockQueue::TimePoint now) const {
  return {.blocks = blocks(),
          .free = free_blocks(),
          .allowed = [this](MemberNumber member) { return allowed(member); },
          .now = now};
}

Result<Blocks> PoolBook::grant(MemberNumber member, std::uint32_t most, std::uint32_t least,
                               BlockQueue::TimePoint now) {
  AQUA_TRY(check_member("grant", member));
  if (least > blocks()) {
    return Error{Code::invalid_argument,
                 concat("grant: ", least, " blocks of a pool of ", blocks())};
  }
  return blocks_.grant(member, queue_.grant(member, most, least, as_of(now)));
}

std::vector<MemberNumber> PoolBook::take_served(BlockQueue::TimePoint now) {
  return queue_.take_served(as_of(now));
}

Result<void> PoolBook::give_back(MemberNumber member, const Blocks& blocks) {
  AQUA_TRY(check_member("give back", member));
  return blocks_.give_back(member, blocks);
}

Result<void> PoolBook::share(MemberNumber member, const Blocks& blocks) {
  AQUA_TRY(check_member("share", member));
  return blocks_.share(member, blocks);
}

Result<std::uint64_t> PoolBook::open(MemberNumber giver, const std::string& role,
                                     const ParcelHead& head) {
  AQUA_ASSIGN(const std::uint64_t number, parcels_.open(giver, role, head));
  drop_ended();
  return number;
}

Result<std::uint64_t> PoolBook::reserve(MemberNumber giver, const std::string& role,
                                        const ParcelHead& head, std::uint64_t since) {
  AQUA_ASSIGN(const std::uint64_t number, parcels_.reserve(giver, role, head, since));
  drop_ended();
  return number;
}

Result<void> PoolBook::close(MemberNumber giver, std::uint64_t number, const Parcel& parcel) {
  AQUA_TRY(check_member("close", giver));
  const ParcelBook::Record* const record = parcels_.find(number);
  const bool is_open =
      record != nullptr && record->giver == giver && record->state == ParcelState::open;
  const std::uint64_t continues = is_open ? record->continues : 0;
  if (is_open) {
    AQUA_TRY(check_parcel("close", parcel));
    AQUA_TRY(blocks_.check_gather(giver, continues, parcel.blocks));
  }
  AQUA_TRY(parcels_.close(giver, number, parcel.tokens, parcel.note));
  blocks_.gather(number, continues, parcel.blocks);
  drop_ended();
  return {};
}

Result<std::uint64_t> PoolBook::offer(MemberNumber giver, const std::string& role,
                                      const Parcel& parcel) {
  AQUA_TRY(check_member("offer", giver));
  AQUA_TRY(check_role("offer", role));
  AQUA_TRY(check_parcel("offer", parcel));
  AQUA_TRY(check_blocks("offer", parcel.blocks, blocks_.blocks()));
  const ParcelHead head{parcel.id, parcel.turn};
  AQUA_TRY(parcels_.check_turn(giver, head));
  AQUA_TRY(blocks_.check_gather(giver, parcels_.taken_as(giver, parcel.id), parcel.blocks));
  AQUA_ASSIGN(const std::uint64_t number, parcels_.open(giver, role, head));
  AQUA_TRY(close(giver, number, parcel));
  return number;
}

Result<void> PoolBook::recall(MemberNumber giver, std::uint64_t number) {
  AQUA_TRY(parcels_.recall(giver, number));
  blocks_.drop(number, giver);
  drop_ended();
  return {};
}

Parcel PoolBook::parcel_of(std::uint64_t number) const {
  const ParcelBook::Record& record = *parcels_.find(number);
  return {.number = number,
          .id = record.id,
          .turn = record.turn,
          .given = record.given_turn,
          .from = record.from,
          .blocks = blocks_.blocks_of(number),
          .tokens = record.tokens,
          .note = record.note,
          .tail_in_doubt = blocks_.is_in_doubt(number)};
}

std::optional<Parcel> PoolBook::next_for(MemberNumber member) const {
  const std::uint64_t number = parcels_.next_for(member);
  return number == 0 ? std::nullopt : std::optional(parcel_of(number));
}

Result<std::vector<Parcel>> PoolBook::accept(MemberNumber member, std::size_t most) {
  AQUA_TRY(check_member("accept", member));
  std::vector<Parcel> taken;
  while (taken.size() < most && parcels_.next_for(member) != 0) {
    AQUA_ASSIGN(const std::uint64_t number, parcels_.accept(member));
    blocks_.give(number, member);
    taken.push_back(parcel_of(number));
  }
  return taken;
}

Result<void> PoolBook::finish(MemberNumber taker, std::uint64_t number, ParcelEvent what) {
  AQUA_TRY(parcels_.finish(taker, number, what));
  if (parcels_.find(number) != nullptr) blocks_.give(number, 0);
  drop_ended();
  return {};
}

Result<void> PoolBook::cancel(const std::string& id, std::uint64_t up_to) {
  AQUA_TRY(parcels_.cancel(id, up_to));
  drop_ended();
  return {};
}

void PoolBook::gone(MemberNumber member) {
  if (!parcels_.is_member(member)) return;
  parcels_.gone(member);
  blocks_.gone(member);
  queue_.forget(member);
  drop_ended();
}

void PoolBook::end(MemberNumber member, bool is_quiet) {
  if (!parcels_.knows(member)) return;
  const auto taken = parcels_.taken_by(member);
  for (const std::uint64_t number : taken) {
    if (!is_quiet) blocks_.doubt(number, parcels_.find(number)->tokens / block_tokens_);
    blocks_.give(number, 0);
  }
  parcels_.end(member);
  drop_ended();
  blocks_.end(member, is_quiet);
  queue_.forget(member);
}

void PoolBook::drop_ended() {
  for (const std::uint64_t number : parcels_.take_ended()) {
    blocks_.drop(number);
    ended_.push_back(number);
  }
}

}  // namespace aqua
