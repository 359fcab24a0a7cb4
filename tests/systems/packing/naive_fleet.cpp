// SPDX-License-Identifier: Apache-2.0
// What the naive packer counts and answers, and where it finds room.
#include <algorithm>
#include <set>

#include "aqua/packing/bounds.hpp"
#include "tests/systems/packing/naive_packer.hpp"

namespace aqua::packing::test {

std::uint64_t NaivePacker::blocks(std::uint64_t tokens) const {
  const std::uint64_t partial = tokens % options_.block_tokens;
  return partial == 0 ? tokens : tokens - partial + options_.block_tokens;
}

std::uint64_t NaivePacker::usable(EngineId id) const {
  const std::uint64_t kv = now_.engines.at(id).spec.kv_tokens;
  return kv - static_cast<std::uint64_t>(static_cast<double>(kv) * options_.watermark);
}

std::uint64_t NaivePacker::held(EngineId id) const {
  std::uint64_t sum = 0;
  std::map<PrefixId, std::uint64_t> shared;
  for (const auto& [request, r] : now_.requests) {
    if (r.home != id && r.source != id) continue;
    sum += r.own;
    if (r.shared > 0) shared[r.spec.prefix] = r.shared;
  }
  for (const auto& [prefix, tokens] : shared) sum += tokens;
  return sum;
}

std::uint64_t NaivePacker::leaving(EngineId id) const {
  std::uint64_t sum = 0;
  std::map<PrefixId, std::uint64_t> shared;
  for (const auto& [request, r] : now_.requests) {
    if (r.source != id) continue;
    sum += r.own;
    if (r.shared > 0) shared[r.spec.prefix] = r.shared;
  }
  for (const auto& [request, r] : now_.requests) {
    if (r.home == id) shared.erase(r.spec.prefix);
  }
  for (const auto& [prefix, tokens] : shared) sum += tokens;
  return sum;
}

std::int64_t NaivePacker::room(EngineId id) const {
  return static_cast<std::int64_t>(usable(id)) - static_cast<std::int64_t>(held(id));
}

bool NaivePacker::has_prefix(EngineId id, PrefixId prefix) const {
  return std::any_of(now_.requests.begin(), now_.requests.end(), [&](const auto& each) {
    const NaiveRequest& r = each.second;
    return r.shared > 0 && r.spec.prefix == prefix && (r.home == id || r.source == id);
  });
}

bool NaivePacker::prefix_kept(EngineId id, PrefixId prefix) const {
  return std::any_of(now_.requests.begin(), now_.requests.end(), [&](const auto& each) {
    const NaiveRequest& r = each.second;
    const bool stays = r.home == id && r.state == RequestState::resident;
    return stays && r.shared > 0 && r.spec.prefix == prefix;
  });
}

bool NaivePacker::has_home(EngineId id) const {
  return std::any_of(now_.requests.begin(), now_.requests.end(),
                     [&](const auto& each) { return each.second.home == id; });
}

std::uint64_t NaivePacker::need(const NaiveRequest& r, EngineId id) const {
  return r.own + (r.shared > 0 && !has_prefix(id, r.spec.prefix) ? r.shared : 0);
}

bool NaivePacker::fits(const NaiveRequest& r, EngineId id) const {
  return room(id) >= static_cast<std::int64_t>(need(r, id));
}

bool NaivePacker::in_transit(EngineId id) const {
  return std::any_of(now_.requests.begin(), now_.requests.end(), [&](const auto& each) {
    const NaiveRequest& r = each.second;
    return r.state == RequestState::moving && (r.home == id || r.source == id);
  });
}

std::vector<RequestId> NaivePacker::residents(EngineId id) const {
  std::vector<RequestId> ids;
  for (const auto& [request, r] : now_.requests) {
    if (r.home == id && r.state == RequestState::resident) ids.push_back(request);
  }
  std::stable_sort(ids.begin(), ids.end(), [&](RequestId a, RequestId b) {
    return now_.requests.at(a).own < now_.requests.at(b).own;
  });
  return ids;
}

std::uint64_t NaivePacker::reference() const {
  std::uint64_t most = 0;
  for (const auto& [id, engine] : now_.engines) {
    if (engine.state != EngineState::draining) most = std::max(most, usable(id));
  }
  return most;
}

// L2 with thresholds at 64ths of the capacity, as it is defined.
std::uint64_t NaivePacker::bound() const {
  const std::uint64_t c = std::max<std::uint64_t>(reference(), 1);
  std::vector<std::uint64_t> sizes;
  std::map<PrefixId, std::uint64_t> shared;
  for (const auto& [id, r] : now_.requests) {
    if (r.home == no_engine) continue;
    sizes.push_back(std::min(r.own, c));
    if (r.shared > 0) shared[r.spec.prefix] = r.shared;
  }
  for (const auto& [prefix, tokens] : shared) sizes.push_back(std::min(tokens, c));
  std::uint64_t best = 0;
  for (std::uint64_t k = 0; k <= 32; ++k) {
    std::uint64_t alone = 0, large = 0, large_sum = 0, small_sum = 0;
    for (const std::uint64_t size : sizes) {
      if (64 * size > (64 - k) * c) {
        alone += 1;
      } else if (2 * size > c) {
        large += 1;
        large_sum += size;
      } else if (64 * size > k * c) {
        small_sum += size;
      }
    }
    const std::uint64_t left = large * c - large_sum;
    const std::uint64_t rest = small_sum > left ? small_sum - left : 0;
    best = std::max(best, alone + large + (rest + c - 1) / c);
  }
  return best;
}

std::uint64_t NaivePacker::in_use() const {
  std::set<EngineId> homes;
  for (const auto& [id, r] : now_.requests) {
    if (r.home != no_engine) homes.insert(r.home);
  }
  return homes.size();
}

std::vector<RequestId> NaivePacker::queue(bool too_large) const {
  std::vector<RequestId> ids;
  for (const auto& [id, r] : now_.requests) {
    if (r.home == no_engine && (r.own + r.shared > reference()) == too_large) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end(), [&](RequestId a, RequestId b) {
    return now_.requests.at(a).arrival < now_.requests.at(b).arrival;
  });
  return ids;
}

NaivePacker::Ids NaivePacker::engines_that(EngineState state) const {
  Ids ids;
  for (const auto& [id, engine] : now_.engines) {
    if (engine.state == state) ids.push_back(id);
  }
  return ids;
}

NaivePacker::Ids NaivePacker::overloaded() const {
  Ids ids;
  for (const auto& [id, engine] : now_.engines) {
    const std::uint64_t kv = engine.spec.kv_tokens;
    const double half = options_.watermark / 2;
    const auto free = static_cast<std::uint64_t>(static_cast<double>(kv) * half);
    if (staying(id) > kv - (moves() ? free : 0)) ids.push_back(id);
  }
  return ids;
}

// --- choosing ----------------------------------------------------------------------------------

EngineId NaivePacker::tightest(const Ids& among, std::int64_t least) const {
  EngineId best = no_engine;
  for (const EngineId id : among) {
    if (room(id) >= least && (best == no_engine || room(id) < room(best))) best = id;
  }
  return best;
}

EngineId NaivePacker::sharer(const NaiveRequest& r, EngineId except, bool worst) const {
  if (r.shared == 0) return no_engine;
  EngineId best = no_engine;
  int seen = 0;
  for (const auto& [id, engine] : now_.engines) {
    if (engine.state != EngineState::active || !has_prefix(id, r.spec.prefix)) continue;
    if (++seen > 8) break;
    if (id == except) continue;
    if (room(id) < static_cast<std::int64_t>(r.own)) continue;
    if (best == no_engine || (worst ? room(id) > room(best) : room(id) < room(best))) best = id;
  }
  return best;
}

NaivePacker::Chosen NaivePacker::fit(const NaiveRequest& r, EngineId except, bool worst) const {
  if (const EngineId shares = sharer(r, except, worst); shares != no_engine) {
    return {shares, Reason::prefix};
  }
  const auto least = static_cast<std::int64_t>(r.own + r.shared);
  Ids all = engines_that(EngineState::active);
  std::erase(all, except);
  if (worst) {
    EngineId best = no_engine;
    for (const EngineId id : all) {
      if (best == no_engine || room(id) > room(best)) best = id;
    }
    const bool has = best != no_engine && room(best) >= least;
    return {has ? best : no_engine, Reason::worst_fit};
  }
  const EngineId best = tightest(all, least);
  if (best == no_engine || except == no_engine || options_.near_slack <= 0) {
    return {best, Reason::best_fit};
  }
  const EngineSpec& from = now_.engines.at(except).spec;
  for (const bool server : {true, false}) {
    Ids close;
    for (const EngineId id : all) {
      const EngineSpec& spec = now_.engines.at(id).spec;
      if (server ? spec.server == from.server : spec.domain == from.domain) close.push_back(id);
    }
    const EngineId near = tightest(close, least);
    if (near == no_engine) continue;
    const double slack = static_cast<double>(usable(near)) * options_.near_slack;
    if (room(near) - room(best) <= static_cast<std::int64_t>(slack)) {
      return {near, Reason::best_fit};
    }
  }
  return {best, Reason::best_fit};
}

NaivePacker::Chosen NaivePacker::choose(const NaiveRequest& r, EngineId except) const {
  if (const Chosen chosen = place(r, except); chosen.engine != no_engine) return chosen;
  EngineId best = no_engine;
  for (const EngineId id : engines_that(EngineState::asleep)) {
    if (usable(id) < r.own + r.shared) continue;
    const double cost = now_.engines.at(id).spec.wake_cost;
    if (best == no_engine || cost < now_.engines.at(best).spec.wake_cost) best = id;
  }
  return {best, best != no_engine ? Reason::wakes : Reason::waits};
}

// --- questions -----------------------------------------------------------------------------------

Result<RequestStatus> NaivePacker::request(RequestId id) const {
  const NaiveRequest& r = now_.requests.at(id);
  return RequestStatus{r.state, r.home, r.source, r.own, r.shared};
}

Result<EngineStatus> NaivePacker::engine(EngineId id) const {
  EngineStatus is{now_.engines.at(id).state,
                  now_.engines.at(id).spec.kv_tokens,
                  usable(id),
                  held(id),
                  leaving(id),
                  static_cast<std::uint32_t>(residents(id).size()),
                  0,
                  0};
  for (const auto& [request, r] : now_.requests) {
    if (r.state != RequestState::moving) continue;
    is.coming += r.home == id;
    is.leaving += r.source == id;
  }
  return is;
}

PackerStatus NaivePacker::status() const noexcept {
  PackerStatus is = totals_;
  for (const auto& [id, r] : now_.requests) {
    is.waiting += r.state == RequestState::waiting;
    is.resident += r.state == RequestState::resident;
    is.moving += r.state == RequestState::moving;
  }
  is.asleep = engines_that(EngineState::asleep).size();
  is.active = engines_that(EngineState::active).size();
  is.draining = engines_that(EngineState::draining).size();
  for (const auto& [id, engine] : now_.engines) is.held_tokens += held(id);
  is.held_bytes = is.held_tokens * options_.bytes_per_token;
  return is;
}

}  // namespace aqua::packing::test
