// SPDX-License-Identifier: Apache-2.0
#include "tools/keeper/pools.hpp"

#include <algorithm>
#include <chrono>
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

template <typename... Each>
struct Overloaded : Each... {
  using Each::operator()...;
};
// As C++20 deduces it, but for clang before 17.
template <typename... Each>
Overloaded(Each...) -> Overloaded<Each...>;

template <typename Asked, typename... These>
constexpr bool kIsOneOf = (std::is_same_v<Asked, These> || ...);
// Takers may have a parcel to accept after such a request.
template <typename Asked>
constexpr bool kMovesParcels = kIsOneOf<Asked, pool_wire::Offer, pool_wire::Open, pool_wire::Close,
                                        pool_wire::Recall, pool_wire::Finish>;
// Members may have something to be told after such a request, and no parcel to accept.
template <typename Asked>
constexpr bool kTells =
    kIsOneOf<Asked, pool_wire::Confirm, pool_wire::Admit, pool_wire::TellCutOff>;

}  // namespace

Result<Pools::Served> Pools::serve(const PacketPeer& from, const pool_wire::PoolRequest& request,
                                   std::vector<UniqueFd> in) {
  if (!in.empty() && !std::holds_alternative<pool_wire::AddSlabs>(request)) {
    return Error{Code::invalid_argument,
                 concat("keeper: ", in.size(), " descriptors with a request that takes none")};
  }
  return std::visit(
      Overloaded{[&](const pool_wire::JoinPool& asked) { return join(from, asked); },
                 [&](const pool_wire::AddSlabs& asked) { return add(from, asked, std::move(in)); },
                 [&](const pool_wire::ListPools& asked) { return list(asked.first); },
                 [&](const pool_wire::ListParcels& asked) { return list(asked); },
                 [&](const pool_wire::RemovePool& asked) { return remove(asked.pool); },
                 [&](const pool_wire::Cancel& asked) { return cancel(asked); },
                 [&](const pool_wire::Release& asked) { return release(asked.pool); },
                 [&](const pool_wire::MoveQuota& asked) { return move_quota(asked); },
                 [&](const pool_wire::Leave& /*asked*/) { return leave(from); },
                 [&](const auto& asked) { return serve_member(from, asked); }},
      request);
}

template <typename Asked>
Result<Pools::Served> Pools::serve_member(const PacketPeer& from, const Asked& asked) {
  AQUA_ASSIGN(const Asker by, asker(from));
  by.pool.book.number_after(last_parcel_);
  auto served = answer(by, asked);
  hear(by.pool.book);
  if constexpr (kMovesParcels<Asked>) wake(by.member.pool, Wake::takers);
  if constexpr (kTells<Asked>) wake(by.member.pool, Wake::told);
  settle(by.member.pool);
  return served;
}

Result<Pools::Served> Pools::leave(const PacketPeer& from) {
  AQUA_ASSIGN(const Asker by, asker(from));
  end(by.number, /*is_quiet=*/true);  // it has unmapped the pool, and no work was left
  return Served{};
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
  if (asked.quota > asked.blocks) {
    return Error{Code::invalid_argument,
                 concat("keeper: a quota of ", asked.quota, " blocks of a pool of ", asked.blocks)};
  }
  if (members_.contains(from.number)) {
    return Error{Code::already_exists, "keeper: the caller has joined a pool"};
  }
  const std::string device = to_string(asked.device);
  const auto known = pools_.find(asked.pool);
  if (known != pools_.end()) {
    const Pool& pool = known->second;
    if (pool.maker != 0) {
      forget_waiter(from.number);
      AQUA_ASSIGN(const int event, waiters_[asked.pool].add(from.number));
      return Served{{.later = true}, {event}};
    }
    if (pool.device != device) {
      return not_now("pool '", asked.pool, "' lies on device ", pool.device, ", not ", device);
    }
    if (pool.shape != asked.shape || pool.book.blocks() != asked.blocks ||
        pool.book.block_tokens() != asked.block_tokens || pool.bytes != asked.bytes) {
      return not_now("pool '", asked.pool, "' has ", pool.book.blocks(), " blocks, ", pool.bytes,
                     " bytes and the shape ", pool.shape, ", not ", asked.blocks, ", ", asked.bytes,
                     " and ", asked.shape);
    }
  } else {
    AQUA_TRY(check_new_pool(asked.blocks));
  }
  AQUA_TRY(check_room(members_, limits_.members, from.pid, "of pools"));
  AQUA_ASSIGN(PeerProcess process, PeerProcess::of_socket(from.fd));
  AQUA_ASSIGN(UniqueFd event, make_wake_event());
  Served served{{.make = known == pools_.end() && asked.bytes != 0}, {event.get()}};
  if (known == pools_.end()) {
    pools_.emplace(asked.pool, Pool{.device = device,
                                    .shape = asked.shape,
                                    .bytes = asked.bytes,
                                    .maker = asked.bytes != 0 ? from.number : 0,
                                    .book = PoolBook(asked.blocks, asked.block_tokens)});
  }
  if (Pool& pool = pools_.at(asked.pool); pool.maker == 0) {
    AQUA_TRY(asked.courier ? pool.book.join_courier(from.number, asked.role, *asked.courier)
                           : pool.book.join(from.number, asked.role, asked.quota));
    served.reply.slabs = static_cast<std::uint32_t>(pool.slabs.size());
  }
  members_.emplace(from.number, Member{asked.pool, asked.role, asked.quota, std::move(process),
                                       std::move(event)});
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
  if (!taken.enforced) pool.on_device = true;
  if (sum == pool.bytes) {
    pool.maker = 0;
    AQUA_TRY(pool.book.join(from.number, member->second.role, member->second.quota));
    wake_waiters(member->second.pool);
  }
  return Served{{.slabs = static_cast<std::uint32_t>(pool.slabs.size())}};
}

Result<void> Pools::check_new_pool(std::uint32_t blocks) const {
  if (pools_.size() >= limits_.pools) {
    return Error{Code::resource_exhausted,
                 concat("keeper: ", pools_.size(), " pools, of at most ", limits_.pools,
                        " (--pools): 'aqua pools remove' ends one that nobody is a member of")};
  }
  std::uint64_t all = blocks;
  for (const auto& [name, pool] : pools_) all += pool.book.blocks();
  if (all <= limits_.blocks) return {};
  return Error{Code::resource_exhausted,
               concat("keeper: ", all, " blocks in all pools, of ", limits_.blocks)};
}

Result<void> Pools::check_record(std::uint64_t more_bytes) const {
  std::uint64_t bytes = more_bytes;
  for (const auto& [name, pool] : pools_) bytes += pool.book.bytes();
  if (bytes <= limits_.record_bytes) return {};
  return Error{Code::resource_exhausted,
               concat("keeper: the record of parcels and shared blocks would take ", bytes,
                      " bytes in all pools, of at most ", limits_.record_bytes)};
}

std::uint32_t Pools::members_in(const std::string& name) const {
  return static_cast<std::uint32_t>(
      std::count_if(members_.begin(), members_.end(),
                    [&](const auto& member) { return member.second.pool == name; }));
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
    hear(pool.book);
    wake(member->second.pool, Wake::takers);
    settle(member->second.pool);
  }
}

Result<void> Pools::check_gives(const PeerProcess& process, std::uint64_t parcel) const {
  for (const auto& [number, member] : members_) {
    if (!member.process.same_process(process)) continue;
    const auto* const record = pools_.at(member.pool).book.parcels().find(parcel);
    if (record != nullptr && record->giver == number && record->state == ParcelState::open) {
      return {};
    }
  }
  return Error{Code::not_found, concat("keeper: the caller gives no parcel ", parcel)};
}

void Pools::hear(PoolBook& book) {
  const std::uint64_t last = book.parcels().last_number();
  for (; last_parcel_ < last; ++last_parcel_)
    begun_[last_parcel_ + 1] = std::chrono::steady_clock::now();
  const auto ended = book.take_ended();
  for (const std::uint64_t number : ended) begun_.erase(number);
  ended_.insert(ended_.end(), ended.begin(), ended.end());
}

// Work that a process had queued on a device may outlast it. What it wrote to files ends with it.
void Pools::ended(std::uint64_t number) {
  const auto member = members_.find(number);
  if (member != members_.end()) end(number, !pools_.at(member->second.pool).on_device);
}

void Pools::end(std::uint64_t number, bool is_quiet) {
  const auto member = members_.find(number);
  if (member == members_.end()) return;
  const std::string name = member->second.pool;
  members_.erase(member);
  const auto pool = pools_.find(name);
  if (pool->second.maker == number) {
    erase(pool);
    return;
  }
  pool->second.book.end(number, is_quiet);
  hear(pool->second.book);
  wake(name, Wake::takers);
  settle(name);
}

void Pools::wake(const std::string& name, Wake whom) {
  const PoolBook& book = pools_.at(name).book;
  for (const auto& [number, member] : members_) {
    if (member.pool != name) continue;
    const bool has = book.parcels().has_news(number) ||
                     (whom == Wake::takers && book.parcels().next_for(number) != 0);
    if (has) signal_event(member.wake.get());
  }
}

void Pools::settle(const std::string& name) {
  const auto pool = pools_.find(name);
  if (pool == pools_.end()) return;
  PoolBook& book = pool->second.book;
  for (const std::uint64_t number : book.take_served(std::chrono::steady_clock::now())) {
    signal_event(members_.at(number).wake.get());
  }
  if (members_in(name) == 0 && book.parcels().waiting() == 0) erase(pool);
}

void Pools::forget_waiter(std::uint64_t number) {
  for (auto& [name, waiters] : waiters_) waiters.forget(number);
}

void Pools::wake_waiters(const std::string& name) {
  waiters_[name].wake_all();
  waiters_.erase(name);
}

void Pools::erase(std::map<std::string, Pool>::iterator pool) {
  wake_waiters(pool->first);
  hear(pool->second.book);
  const auto left = pool->second.book.parcels().numbers();
  for (const std::uint64_t number : left) begun_.erase(number);
  ended_.insert(ended_.end(), left.begin(), left.end());
  room_.close(std::move(pool->second.slabs));
  pools_.erase(pool);
}

}  // namespace aqua::keeper
