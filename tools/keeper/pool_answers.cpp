// SPDX-License-Identifier: Apache-2.0
// What a member of a pool is answered: its part of the record, in packets.
#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/step.hpp"
#include "base/try.hpp"
#include "base/wake_event.hpp"
#include "tools/keeper/pools.hpp"

namespace aqua::keeper {
namespace {

// What the record takes more once this parcel is closed, if all of its blocks are shared.
std::uint64_t closing_bytes(const Parcel& parcel) {
  return parcel.note.size() + parcel.blocks.size() * PoolBook::kSharingBytes;
}

}  // namespace

Result<Pools::Served> Pools::answer(Asker by, const pool_wire::FetchSlabs& asked) {
  Served served;
  const auto& slabs = by.pool.slabs;
  const std::size_t end = std::min(slabs.size(), asked.first + keeper_wire::kMaxDescriptors);
  for (std::size_t i = asked.first; i < end; ++i) {
    served.fds.push_back(slabs[i].fd.get());
    served.reply.bytes.push_back(slabs[i].bytes);
  }
  return served;
}

Result<Pools::Served> Pools::answer(Asker by, const pool_wire::Grant& asked) {
  AQUA_ASSIGN(auto blocks, by.pool.book.grant(by.number, asked.most, asked.least,
                                              std::chrono::steady_clock::now()));
  return Served{{.blocks = std::move(blocks)}};
}

Result<Pools::Served> Pools::answer(Asker by, const pool_wire::GiveBack& asked) {
  AQUA_TRY(by.pool.book.give_back(by.number, asked.blocks));
  return Served{};
}

// However full the records are: the member has shared them already, and its next parcel has them.
Result<Pools::Served> Pools::answer(Asker by, const pool_wire::Share& asked) {
  AQUA_TRY(by.pool.book.share(by.number, asked.blocks));
  return Served{};
}

Result<Pools::Served> Pools::answer(Asker by, const pool_wire::Offer& asked) const {
  AQUA_TRY(pool_wire::check_bytes(asked.parcel));
  AQUA_TRY(check_record(PoolBook::kParcelBytes + closing_bytes(asked.parcel)));
  AQUA_ASSIGN(const std::uint64_t number, by.pool.book.offer(by.number, asked.role, asked.parcel));
  return Served{{.number = number}};
}

Result<Pools::Served> Pools::answer(Asker by, const pool_wire::Open& asked) const {
  if (asked.since != 0) {
    if (!asked.needs_room) {
      return Error{Code::invalid_argument, "keeper: what is carried from elsewhere needs room"};
    }
    AQUA_ASSIGN(const std::uint64_t before,
                by.pool.book.resume(by.number, asked.head.id, asked.since));
    if (before != 0) return Served{{.number = before, .closed = true}};
    const ParcelBook& parcels = by.pool.book.parcels();
    const std::uint64_t highest = parcels.highest_turn(asked.head.id);
    if (asked.head.turn <= highest && !parcels.is_being_given(asked.head.id)) {
      return Served{{.turn = highest}};
    }
  }
  AQUA_TRY(check_record(PoolBook::kParcelBytes));
  AQUA_ASSIGN(const std::uint64_t number,
              asked.needs_room
                  ? by.pool.book.reserve(by.number, asked.role, asked.head, asked.since)
                  : by.pool.book.open(by.number, asked.role, asked.head));
  const ParcelState state = by.pool.book.parcels().find(number)->state;
  return Served{{.number = number, .open = state == ParcelState::open}};
}

Result<Pools::Served> Pools::answer(Asker by, const pool_wire::Admit& asked) {
  AQUA_TRY(by.pool.book.admit(by.number, asked.from, asked.parcels));
  return Served{};
}

Result<Pools::Served> Pools::answer(Asker by, const pool_wire::Close& asked) const {
  AQUA_TRY(pool_wire::check_bytes(asked.parcel));
  AQUA_TRY(check_record(closing_bytes(asked.parcel)));
  AQUA_TRY(by.pool.book.close(by.number, asked.parcel.number, asked.parcel));
  return Served{};
}

Result<Pools::Served> Pools::answer(Asker by, const pool_wire::Recall& asked) {
  AQUA_TRY(by.pool.book.recall(by.number, asked.number));
  return Served{};
}

Result<Pools::Served> Pools::answer(Asker by, const pool_wire::Confirm& asked) {
  AQUA_TRY(by.pool.book.confirm(by.number, asked.number));
  return Served{};
}

Result<Pools::Served> Pools::answer(Asker by, const pool_wire::Accept& asked) const {
  Served served;
  std::size_t room = pool_wire::kMostParcelBytes;
  for (std::uint32_t i = 0; i < asked.most; ++i) {
    std::optional<Parcel> next = by.pool.book.next_for(by.number);
    if (!next) break;
    next->segment = segment_of_(next->number);
    const std::size_t bytes = pool_wire::packet_bytes(*next);
    // The first one always goes: a packet has room for what is added to what its giver sent.
    if (bytes > room && !served.reply.parcels.empty()) break;
    room -= std::min(room, bytes);
    AQUA_ASSIGN(auto taken, by.pool.book.accept(by.number, 1));
    served.reply.parcels.push_back(std::move(taken.front()));
    served.reply.parcels.back().segment = next->segment;
  }
  if (!served.reply.parcels.empty()) step("accepted");
  served.reply.told = by.pool.book.take_news(by.number, [&room](const ParcelNews& news) {
    const std::size_t bytes = pool_wire::packet_bytes(news);
    if (bytes > room) return false;
    room -= bytes;
    return true;
  });
  // What did not go into this packet goes into the next one.
  if (by.pool.book.parcels().has_news(by.number)) signal_event(by.member.wake.get());
  served.reply.waiting = static_cast<std::uint32_t>(by.pool.book.parcels().waiting_for(by.number));
  return served;
}

Result<Pools::Served> Pools::answer(Asker by, const pool_wire::Renew& asked) {
  AQUA_ASSIGN(const std::uint64_t turn, by.pool.book.renew(by.number, asked.number, asked.above));
  return Served{{.turn = turn}};
}

Result<Pools::Served> Pools::answer(Asker by, const pool_wire::TellCutOff& asked) {
  AQUA_TRY(by.pool.book.tell_cut_off(by.number, asked.role, asked.head));
  return Served{};
}

Result<Pools::Served> Pools::answer(Asker by, const pool_wire::Finish& asked) {
  AQUA_TRY(by.pool.book.finish(by.number, asked.number, asked.what));
  return Served{};
}

}  // namespace aqua::keeper
