// SPDX-License-Identifier: Apache-2.0
// A sequence is either read, which takes its stages' links and computes what lies beyond its
// replicas, or computed from its first token. Anything between is no better: both costs are linear
// in the point at which it goes on. So all that can be read is, and then sequences are computed
// instead, those first that free the most of the busiest link for the least computing, for as long
// as the whole gets shorter; or all of them, where that is shorter still. Where reading comes
// first, a sequence that is computed helps as much as its part of the busiest link takes longer
// than computing it.
#include "aqua/kv_stream/recovery.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::kv_stream {
namespace {

constexpr std::uint64_t kMostTokens = std::uint64_t{1} << 31;

template <typename... Parts>
Error bad_input(const Parts&... parts) {
  return Error{Code::invalid_argument, concat("plan_recovery: ", parts...)};
}

Result<void> check(const RecoveryInput& in) {
  const std::size_t stages = in.lost_workers.size();
  if (stages == 0) return bad_input("lost_workers is empty: one for each stage");
  if (in.lost_keepers.size() != stages) {
    return bad_input("lost_keepers has ", in.lost_keepers.size(), " entries for ", stages,
                     " stages");
  }
  if (in.token_bytes.size() != stages) {
    return bad_input("token_bytes has ", in.token_bytes.size(), " entries for ", stages, " stages");
  }
  for (const auto& [field, value] : {std::pair{"link_bytes_per_second", in.link_bytes_per_second},
                                     {"prefill_seconds_per_token", in.prefill_seconds_per_token}}) {
    if (!(value > 0 && std::isfinite(value))) return bad_input(field, " is ", value, ": above 0");
  }
  std::set<std::uint64_t> seen;
  for (const SequenceState& state : in.sequences) {
    const std::uint64_t name = state.sequence;
    if (!seen.insert(name).second) return bad_input("sequence ", name, " is named twice");
    if (state.prompt_tokens == 0) return bad_input("sequence ", name, ": prompt_tokens is 0");
    if (std::uint64_t{state.prompt_tokens} + state.delivered > kMostTokens) {
      return bad_input("sequence ", name, ": more than ", kMostTokens, " tokens");
    }
    if (state.cached.size() != stages) {
      return bad_input("sequence ", name, ": cached has ", state.cached.size(), " entries for ",
                       stages, " stages");
    }
    for (const Replica& replica : state.replicas) {
      if (replica.stage < stages && replica.keeper < stages) continue;
      return bad_input("sequence ", name, ": a replica of stage ", replica.stage, " with keeper ",
                       replica.keeper, ", of ", stages, " stages");
    }
  }
  return {};
}

// The replica of a stage with the highest watermark that is left; without tokens where none is.
Replica best_replica(const RecoveryInput& in, const SequenceState& state, std::uint32_t stage) {
  Replica best{.stage = stage, .keeper = stage};
  for (const Replica& replica : state.replicas) {
    if (replica.stage != stage || in.lost_keepers[replica.keeper]) continue;
    if (replica.tokens > best.tokens) best = replica;
  }
  return best;
}

// How a sequence would go on by its replicas, and what that costs.
struct Choice {
  Resumed read;                 // with no reads where nothing is to be read, or nothing can be
  double link = 0;              // seconds of the slowest of its reads
  double computed_if_read = 0;  // seconds
  double computed_anew = 0;
  bool reads() const { return !read.reads.empty(); }
};

Choice choose(const RecoveryInput& in, const SequenceState& state) {
  Choice choice;
  // The last id is the input of the next step: its KV is not there yet.
  const std::uint32_t known = state.prompt_tokens + state.delivered;
  std::uint32_t from = known - 1;
  std::vector<Replica> best;
  const auto stages = static_cast<std::uint32_t>(in.lost_workers.size());
  const auto has = [&](std::uint32_t stage) {
    return in.lost_workers[stage] ? 0 : state.cached[stage];
  };
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    best.push_back(best_replica(in, state, stage));
    from = std::min(from, std::max(has(stage), best.back().tokens));
  }
  std::vector<Replica> reads;
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    if (has(stage) >= from) continue;
    Replica& read = reads.emplace_back(best[stage]);
    read.tokens = from;
    const double bytes = static_cast<double>(from) * static_cast<double>(in.token_bytes[stage]);
    choice.link = std::max(choice.link, bytes / in.link_bytes_per_second);
  }
  choice.read = {state.sequence, from, known, std::move(reads)};
  choice.computed_if_read = in.prefill_seconds_per_token * (known - from);
  choice.computed_anew = in.prefill_seconds_per_token * known;
  return choice;
}

// What the links of the stages, and the devices, have to do in all.
struct Load {
  std::vector<double> links;
  bool reads_first = false;
  double computing = 0;

  void read(const RecoveryInput& in, const Choice& choice, double sign) {
    for (const Replica& read : choice.read.reads) {
      const double bytes =
          static_cast<double>(read.tokens) * static_cast<double>(in.token_bytes[read.stage]);
      links[read.stage] += sign * bytes / in.link_bytes_per_second;
    }
  }
  [[nodiscard]] double busiest() const { return std::ranges::max(links); }
  [[nodiscard]] double seconds() const {
    return reads_first ? busiest() + computing : std::max(busiest(), computing);
  }
};

// The whole load with this sequence computed from its first token.
Load with_anew(const RecoveryInput& in, const Load& load, const Choice& choice) {
  Load without = load;
  without.read(in, choice, -1);
  without.computing += choice.computed_anew - choice.computed_if_read;
  return without;
}

struct Loads {
  Load chosen;
  double seconds_if_read = 0;
  double seconds_if_computed = 0;
};

void compute_anew(Choice& choice) {
  choice.read.from = 0;
  choice.read.reads.clear();
  choice.link = 0;
  choice.computed_if_read = choice.computed_anew;
}

Loads balance(const RecoveryInput& in, std::vector<Choice>& choices) {
  Load load{.links = std::vector<double>(in.lost_workers.size()), .reads_first = in.reads_first};
  std::vector<std::size_t> readers;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    load.computing += choices[i].computed_if_read;
    load.read(in, choices[i], 1);
    if (choices[i].reads()) readers.push_back(i);
  }
  // By computing for each second of the link that it frees.
  std::ranges::stable_sort(readers, {}, [&](std::size_t i) {
    const Choice& choice = choices[i];
    return (choice.computed_anew - choice.computed_if_read) / choice.link;
  });
  const Load all_read = load;
  Load none_read = load;
  for (const std::size_t i : readers) none_read = with_anew(in, none_read, choices[i]);
  for (const std::size_t i : readers) {
    Load without = with_anew(in, load, choices[i]);
    if (without.seconds() >= load.seconds()) continue;
    load = std::move(without);
    compute_anew(choices[i]);
  }
  // One alone may not help where several links are as busy; all of them may.
  if (none_read.seconds() < load.seconds()) {
    load = none_read;
    for (const std::size_t i : readers) compute_anew(choices[i]);
  }
  return {load, all_read.seconds(), none_read.seconds()};
}

}  // namespace

Result<RecoveryPlan> plan_recovery(const RecoveryInput& input) {
  AQUA_TRY(check(input));
  std::vector<Choice> choices;
  choices.reserve(input.sequences.size());
  for (const SequenceState& state : input.sequences) choices.push_back(choose(input, state));
  const auto [load, if_read, if_computed] = balance(input, choices);
  std::ranges::stable_sort(choices, {}, &Choice::link);
  RecoveryPlan plan{.sequences = {},
                    .link_seconds = load.busiest(),
                    .compute_seconds = load.computing,
                    .seconds = load.seconds(),
                    .seconds_if_read = if_read,
                    .seconds_if_computed = if_computed};
  for (Choice& choice : choices) plan.sequences.push_back(std::move(choice.read));
  return plan;
}

}  // namespace aqua::kv_stream
