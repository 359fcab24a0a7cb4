// SPDX-License-Identifier: Apache-2.0
#include "aqua/packing/divide.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::packing {
namespace {

// What is left of a boundary.
struct Left {
  std::uint64_t of = 0, used = 0;
  [[nodiscard]] bool holds(std::uint64_t more) const { return more <= of - used; }
  [[nodiscard]] double share_after(std::uint64_t more) const {
    return of == 0 ? 0 : static_cast<double>(of - used - more) / static_cast<double>(of);
  }
};

struct EngineLeft {
  ServerId server{};
  Left in{}, out{}, prefill{};
};

struct ServerLeft {
  Left in{}, out{};
};

struct Ledger {
  std::map<EngineId, EngineLeft> engines{};
  std::map<ServerId, ServerLeft> servers{};
};

Ledger ledger_of(const Boundaries& boundaries) {
  Ledger ledger;
  for (const auto& [id, is] : boundaries.engines) {
    ledger.engines[id] = {is.server, {is.bytes_in}, {is.bytes_out}, {is.prefill_tokens}};
  }
  for (const auto& [id, is] : boundaries.servers) {
    ledger.servers[id] = {{is.bytes_in}, {is.bytes_out}};
  }
  return ledger;
}

Result<void> check(std::span<const Move> moves, const Ledger& ledger) {
  for (const Move& move : moves) {
    for (const EngineId id : {move.from, move.to}) {
      const auto engine = ledger.engines.find(id);
      if (engine == ledger.engines.end()) {
        return Error{Code::invalid_argument,
                     concat("divide: engine ", static_cast<std::uint64_t>(id), " has no boundary")};
      }
      const auto server = static_cast<std::uint64_t>(engine->second.server);
      if (!ledger.servers.contains(engine->second.server)) {
        return Error{Code::invalid_argument, concat("divide: server ", server, " has no boundary")};
      }
    }
  }
  return {};
}

// Up to four boundaries that a move uses in one way.
struct Uses {
  std::array<Left*, 4> left{};
  std::size_t count = 0;
  std::uint64_t amount = 0;

  void add(Left& boundary) { left[count++] = &boundary; }
  [[nodiscard]] bool fit() const {
    return std::all_of(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(count),
                       [&](const Left* each) { return each->holds(amount); });
  }
  // The least share that the move would leave of any of these boundaries.
  [[nodiscard]] double scarcest() const {
    double least = 1;
    for (std::size_t i = 0; i < count; ++i) least = std::min(least, left[i]->share_after(amount));
    return least;
  }
  void take() {
    for (std::size_t i = 0; i < count; ++i) left[i]->used += amount;
  }
};

Uses as_kv(const Move& move, Ledger& ledger) {
  EngineLeft& from = ledger.engines[move.from];
  EngineLeft& to = ledger.engines[move.to];
  Uses uses{.amount = move.bytes};
  uses.add(from.out);
  uses.add(to.in);
  if (from.server != to.server) {
    uses.add(ledger.servers[from.server].out);
    uses.add(ledger.servers[to.server].in);
  }
  return uses;
}

Uses as_tokens(const Move& move, Ledger& ledger) {
  Uses uses{.amount = move.tokens};
  uses.add(ledger.engines[move.to].prefill);
  return uses;
}

SendAs send(const Move& move, Allowed allowed, Ledger& ledger) {
  Uses kv = as_kv(move, ledger), tokens = as_tokens(move, ledger);
  const bool kv_fits = allowed != Allowed::tokens_only && !move.dropped && kv.fit();
  const bool tokens_fit = (allowed != Allowed::kv_only || move.dropped) && tokens.fit();
  if (!kv_fits && !tokens_fit) return SendAs::later;
  if (kv_fits && (!tokens_fit || kv.scarcest() >= tokens.scarcest())) {
    kv.take();
    return SendAs::kv;
  }
  tokens.take();
  return SendAs::tokens;
}

}  // namespace

Result<std::vector<SendAs>> divide(std::span<const Move> moves, const Boundaries& boundaries,
                                   Allowed allowed) {
  Ledger ledger = ledger_of(boundaries);
  AQUA_TRY(check(moves, ledger));
  std::vector<std::size_t> order(moves.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(moves[a].stage, moves[b].tokens, a) <
           std::tuple(moves[b].stage, moves[a].tokens, b);
  });
  std::vector<SendAs> answer(moves.size(), SendAs::later);
  std::map<EngineId, std::uint32_t> still_full;  // a move from it goes later: the first such stage
  for (const std::size_t each : order) {
    const Move& move = moves[each];
    const auto full = still_full.find(move.to);
    const bool blocked = full != still_full.end() && full->second < move.stage;
    answer[each] = blocked ? SendAs::later : send(move, allowed, ledger);
    // What was dropped has left already.
    if (answer[each] == SendAs::later && !move.dropped) {
      still_full.try_emplace(move.from, move.stage);
    }
  }
  return answer;
}

}  // namespace aqua::packing
