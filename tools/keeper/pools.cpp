// SPDX-License-Identifier: Apache-2.0
#include "tools/keeper/pools.hpp"

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "base/wake_event.hpp"

namespace aqua::keeper {
namespace {

template <typename... What>
Error not_now(const What&... what) {
  return Error{Code::failed_precondition, concat("keeper: ", what...)};
}

}  // namespace

Result<Pools::Served> Pools::serve(const PacketPeer& from, const pool_wire::PoolRequest& request,
                                   std::vector<UniqueFd> in) {
  if (!in.empty() && !std::holds_alternative<pool_wire::AddSlabs>(request)) {
    return Error{Code::invalid_argument,
                 concat("keeper: ", in.size(), " descriptors with a request that takes none")};
  }
  return std::visit(
      [&](const auto& asked) -> Result<Served> {
        using Asked = std::decay_t<decltype(asked)>;
        if constexpr (std::is_same_v<Asked, pool_wire::JoinPool>) {
          return join(from, asked);
        } else if constexpr (std::is_same_v<Asked, pool_wire::AddSlabs>) {
          return add(from, asked, std::move(in));
        } else if constexpr (std::is_same_v<Asked, pool_wire::ListPools>) {
          return list(asked.first);
        } else if constexpr (std::is_same_v<Asked, pool_wire::RemovePool>) {
          return remove(asked.pool);
        } else if constexpr (std::is_same_v<Asked, pool_wire::Cancel>) {
          AQUA_ASSIGN(Pool* const pool, find(asked.pool));
          AQUA_TRY(pool->book.cancel(asked.id));
          settle(asked.pool);
          return Served{};
        } else {
          AQUA_ASSIGN(const Asker by, asker(from));
          const std::string pool = by.member.pool;
          auto served = answer(by, asked);
          settle(pool);
          return served;
        }
      },
      request);
}

Result<Pools::Asker> Pools::asker(const PacketPeer& from) {
  const auto member = members_.find(from.number);
  if (member != members_.end()) {
    Pool& pool = pools_.at(member->second.pool);
    if (pool.maker == 0) return Asker{from.number, pool, member->second};
  }
  return Error{Code::not_found, "keeper: the caller is no member of a pool"};
}

Result<Pools::Pool*> Pools::find(const std::string& name) {
  const auto pool = pools_.find(name);
  if (pool != pools_.end() && pool->second.maker == 0) return &pool->second;
  return Error{Code::not_found, concat("keeper: there is no pool '", name, "'")};
}

Result<Pools::Served> Pools::join(const PacketPeer& from, const pool_wire::JoinPool& asked) {
  AQUA_TRY(check_role("join", asked.role));
  if (members_.contains(from.number)) {
    return Error{Code::already_exists, "keeper: the caller has joined a pool"};
  }
  const std::string device = to_string(asked.device);
  const auto known = pools_.find(asked.pool);
  if (known != pools_.end()) {
    const Pool& pool = known->second;
    if (pool.maker != 0) {
      forget_waiter(from.number);
      UniqueFd& event = waiters_[asked.pool][from.number];
      AQUA_ASSIGN(event, make_wake_event());
      return Served{{.later = true}, {event.get()}};
    }
    if (pool.device != device) {
      return not_now("pool '", asked.pool, "' lies on device ", pool.device, ", not ", device);
    }
    if (pool.shape != asked.shape || pool.book.blocks() != asked.blocks ||
        pool.bytes != asked.bytes) {
      return not_now("pool '", asked.pool, "' has ", pool.book.blocks(), " blocks, ", pool.bytes,
                     " bytes and the shape ", pool.shape, ", not ", asked.blocks, ", ", asked.bytes,
                     " and ", asked.shape);
    }
  } else {
    std::uint64_t blocks = asked.blocks;
    for (const auto& [name, pool] : pools_) blocks += pool.book.blocks();
    if (blocks > kMostBlocks) {
      return Error{Code::resource_exhausted,
                   concat("keeper: ", blocks, " blocks in all pools, of ", kMostBlocks)};
    }
  }
  AQUA_TRY(check_room(from.pid));
  AQUA_ASSIGN(PeerProcess process, PeerProcess::of_socket(from.fd));
  AQUA_ASSIGN(UniqueFd event, make_wake_event());
  Served served{{.make = known == pools_.end()}, {event.get()}};
  if (known == pools_.end()) {
    pools_.emplace(asked.pool, Pool{.device = device,
                                    .shape = asked.shape,
                                    .bytes = asked.bytes,
                                    .maker = from.number,
                                    .book = PoolBook(asked.blocks)});
  } else {
    AQUA_TRY(known->second.book.join(from.number, asked.role));
    served.reply.slabs = static_cast<std::uint32_t>(known->second.slabs.size());
  }
  members_.emplace(from.number,
                   Member{asked.pool, asked.role, std::move(process), std::move(event)});
  return served;
}

Result<Pools::Served> Pools::add(const PacketPeer& from, const pool_wire::AddSlabs& asked, Fds in) {
  const auto member = members_.find(from.number);
  if (member == members_.end() || pools_.at(member->second.pool).maker != from.number) {
    return Error{Code::not_found, "keeper: the caller makes no pool"};
  }
  Pool& pool = pools_.at(member->second.pool);
  AQUA_ASSIGN(TakenSlabs taken, take_slabs(asked.bytes, std::move(in), SlabWriters::everybody));
  std::uint64_t sum = pool.slab_bytes;
  for (const std::uint64_t bytes : asked.bytes) sum += bytes;
  if (sum > pool.bytes) {
    return Error{Code::invalid_argument,
                 concat("keeper: slabs of ", sum, " bytes for a pool of ", pool.bytes)};
  }
  AQUA_TRY(room_.take(taken.slabs.size()));
  std::move(taken.slabs.begin(), taken.slabs.end(), std::back_inserter(pool.slabs));
  pool.slab_bytes = sum;
  if (sum == pool.bytes) {
    pool.maker = 0;
    AQUA_TRY(pool.book.join(from.number, member->second.role));
    wake_waiters(member->second.pool);
  }
  return Served{{.slabs = static_cast<std::uint32_t>(pool.slabs.size())}};
}

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
  AQUA_ASSIGN(auto blocks, by.pool.book.grant(by.number, asked.most));
  by.member.hungry = blocks.size() < asked.most;
  return Served{{.blocks = std::move(blocks)}};
}

Result<Pools::Served> Pools::answer(Asker by, const pool_wire::GiveBack& asked) {
  AQUA_TRY(by.pool.book.give_back(by.number, asked.blocks));
  return Served{};
}

Result<Pools::Served> Pools::answer(Asker by, const pool_wire::Share& asked) {
  AQUA_TRY(by.pool.book.share(by.number, asked.blocks));
  return Served{};
}

Result<Pools::Served> Pools::answer(Asker by, const pool_wire::Offer& asked) {
  AQUA_TRY(pool_wire::check_bytes(asked.parcel));
  AQUA_ASSIGN(const std::uint64_t number, by.pool.book.offer(by.number, asked.role, asked.parcel));
  wake_takers(by.member.pool);
  return Served{{.number = number}};
}

Result<Pools::Served> Pools::answer(Asker by, const pool_wire::Accept& asked) {
  Served served;
  std::size_t room = pool_wire::kMostParcelBytes;
  for (std::uint32_t i = 0; i < asked.most; ++i) {
    const Parcel* const next = by.pool.book.next_for(by.number);
    if (next == nullptr) break;
    const std::size_t bytes = pool_wire::packet_bytes(*next);
    if (bytes > room) break;
    room -= bytes;
    AQUA_ASSIGN(auto taken, by.pool.book.accept(by.number, 1));
    served.reply.parcels.push_back(std::move(taken.front()));
  }
  served.reply.waiting = static_cast<std::uint32_t>(by.pool.book.waiting(by.member.role));
  return served;
}

Result<Pools::Served> Pools::answer(Asker by, const pool_wire::Finish& asked) {
  AQUA_TRY(by.pool.book.finish(by.number, asked.number));
  return Served{};
}

Result<Pools::Served> Pools::answer(Asker by, const pool_wire::Leave& /*asked*/) {
  ended(by.number);
  return Served{};
}

Result<void> Pools::check_room(std::int64_t pid) const {
  const auto of_process = static_cast<std::size_t>(
      std::count_if(members_.begin(), members_.end(),
                    [&](const auto& member) { return member.second.process.pid() == pid; }));
  if (members_.size() < most_members_ && of_process < most_members_ / 4) return {};
  return Error{Code::resource_exhausted,
               concat("keeper: ", members_.size(), " members of pools, of at most ", most_members_,
                      ", and ", of_process, " of process ", pid, ", of a quarter of that")};
}

std::uint32_t Pools::members_in(const std::string& name) const {
  return static_cast<std::uint32_t>(
      std::count_if(members_.begin(), members_.end(),
                    [&](const auto& member) { return member.second.pool == name; }));
}

Result<Pools::Served> Pools::list(std::uint32_t first) const {
  Served served;
  std::uint32_t row = 0;
  for (const auto& [name, pool] : pools_) {
    if (pool.maker != 0 || row++ < first) continue;
    if (served.reply.pools.size() == pool_wire::kMostPoolRows) {
      served.reply.more = true;
      break;
    }
    const PoolCounts counts = pool.book.counts();
    served.reply.pools.push_back({.pool = name,
                                  .device = pool.device,
                                  .shape = pool.shape,
                                  .members = members_in(name),
                                  .bytes = pool.bytes,
                                  .blocks = pool.book.blocks(),
                                  .free = counts.free,
                                  .owned = counts.owned,
                                  .offered = counts.offered,
                                  .shared = counts.shared,
                                  .orphaned = counts.orphaned,
                                  .waiting = static_cast<std::uint32_t>(pool.book.waiting())});
  }
  return served;
}

Result<Pools::Served> Pools::remove(const std::string& name) {
  AQUA_TRY(find(name));
  if (const auto members = members_in(name); members != 0) {
    return not_now("pool '", name, "' has members, ", members, " of them");
  }
  erase(pools_.find(name));
  return Served{};
}

void Pools::closed(std::uint64_t number) {
  forget_waiter(number);
  const auto member = members_.find(number);
  if (member == members_.end()) return;
  Pool& pool = pools_.at(member->second.pool);
  // Nobody else has ever had the memory of a pool that is being made, and who has no block may
  // write none.
  if (pool.maker == number || !pool.book.has_any(number) || member->second.process.proven_dead()) {
    ended(number);
  } else {
    pool.book.gone(number);
  }
}

std::vector<int> Pools::pidfds() const {
  std::vector<int> fds;
  for (const auto& [number, member] : members_) fds.push_back(member.process.pidfd());
  return fds;
}

std::vector<std::uint64_t> Pools::members_of(int pidfd) const {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, member] : members_) {
    if (member.process.pidfd() == pidfd) numbers.push_back(number);
  }
  return numbers;
}

void Pools::ended(std::uint64_t number) {
  const auto member = members_.find(number);
  if (member == members_.end()) return;
  const std::string name = member->second.pool;
  members_.erase(member);
  const auto pool = pools_.find(name);
  if (pool->second.maker == number) {
    erase(pool);
    return;
  }
  pool->second.book.end(number);
  wake_takers(name);
  settle(name);
}

void Pools::wake_takers(const std::string& name) {
  const PoolBook& book = pools_.at(name).book;
  for (const auto& [number, member] : members_) {
    if (member.pool == name && book.next_for(number) != nullptr) signal_event(member.wake.get());
  }
}

void Pools::settle(const std::string& name) {
  const auto pool = pools_.find(name);
  if (pool == pools_.end()) return;
  const bool has_free = pool->second.book.free_blocks() != 0;
  bool members = false;
  for (auto& [number, member] : members_) {
    if (member.pool != name) continue;
    members = true;
    if (!has_free || !std::exchange(member.hungry, false)) continue;
    signal_event(member.wake.get());
  }
  if (!members && pool->second.book.waiting() == 0) erase(pool);
}

void Pools::forget_waiter(std::uint64_t number) {
  for (auto& [name, waiters] : waiters_) waiters.erase(number);
}

void Pools::wake_waiters(const std::string& name) {
  for (const auto& [number, event] : waiters_[name]) signal_event(event.get());
  waiters_.erase(name);
}

void Pools::erase(std::map<std::string, Pool>::iterator pool) {
  wake_waiters(pool->first);
  room_.give(pool->second.slabs.size());
  pools_.erase(pool);
}

}  // namespace aqua::keeper
