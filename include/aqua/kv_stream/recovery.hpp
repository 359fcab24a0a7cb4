// SPDX-License-Identifier: Apache-2.0
// plan_recovery() says how a pipeline goes on after some of its stages have died: from which token
// each sequence is computed on, and which replicas are read into the stages that took their place
// (DéjàVu, 4.2.3). Replicas that are lost are no part of the plan: the stage's Replicator copies
// again whatever its keeper does not have.
//
// Each sequence goes on at a point of its own, not at one step for all as in the paper: the token
// ids that the client has are known, so that positions which lie beyond a replica are computed
// again from known ids, as a prefill is, and nothing that was delivered can change. A sequence
// without a replica of a lost stage is computed again from its first token, and so is one that has
// replicas where that makes the whole recovery shorter: the links and the devices work side by
// side, or one after the other, as RecoveryInput::reads_first says. What both cost is to be
// measured (aqua/kv_stream/recovery_costs.hpp). A stage that is not lost reads, too, where a
// replica has more of it than its worker: the worker has taken a lost one's place, and another
// stage has died before it had read all.
//
// The plan that a group is told (aqua/groups.hpp) has the same points, up to `known` - 1, where
// marks are tokens: stages that it names no restore of have cached the point, the others nothing,
// and what a restore names is their replica. That a sequence is computed from its first token
// instead, is for one process to decide for all.
//
// Threads: a plain function, deterministic.
// Units:   tokens, bytes, seconds. Positions count from 0; KV "of n tokens" is that of [0, n).
// Before:  the term is raised, and the segments of the old one are sealed. What is reported here
//          does not grow any more.
#pragma once

#include <cstdint>
#include <vector>

#include "aqua/export.h"
#include "aqua/result.hpp"

namespace aqua::kv_stream {

// KV of one stage and one sequence that a keeper has committed.
struct Replica {
  std::uint32_t stage = 0;   // whose KV it is
  std::uint32_t keeper = 0;  // who has it: the keeper beside the stage of this number
  std::uint32_t tokens = 0;  // its watermark
  friend bool operator==(const Replica&, const Replica&) = default;
};

struct SequenceState {
  std::uint64_t sequence = 0;
  std::uint32_t prompt_tokens = 0;  // 1 or more
  std::uint32_t delivered = 0;      // tokens of the answer that the client has
  // By stage: tokens whose KV its worker has. Of a lost worker it is not looked at.
  std::vector<std::uint32_t> cached{};
  std::vector<Replica> replicas{};  // in any order; several of a stage are no error
};

struct RecoveryInput {
  // One for each stage of the pipeline: whether its worker, and the keeper beside it, is lost. What
  // took the worker's place has the stage's weights, and no KV.
  std::vector<bool> lost_workers{};
  std::vector<bool> lost_keepers{};
  std::vector<std::uint64_t> token_bytes{};  // KV of one token in each stage
  std::vector<SequenceState> sequences{};
  // From a keeper into a stage; each stage has a link of its own. Above 0.
  double link_bytes_per_second = 0;
  // Seconds for one token that is computed from a known id, through the whole pipeline. Above 0.
  double prefill_seconds_per_token = 0;
  // Nothing is computed before all that is read has been. False: both begin at once.
  bool reads_first = false;
};

// One token is always computed: the one whose result is the next new token.
struct Resumed {
  std::uint64_t sequence = 0;
  // The first position that is computed. Every stage has KV of so many tokens then, and drops what
  // it has beyond. 0: the sequence is prefilled anew.
  std::uint32_t from = 0;
  // Positions below this have ids that are known: prompt, then delivered tokens. KV of this
  // position and beyond, wherever it is, is of ids that nobody has seen: replicas are cut there,
  // too.
  std::uint32_t known = 0;
  // What is read, one of each stage that has less, `tokens` being `from`: whatever it has is
  // replaced. None where nothing is read.
  std::vector<Replica> reads{};
  friend bool operator==(const Resumed&, const Resumed&) = default;
};

struct RecoveryPlan {
  // In the order in which they go on: first those that wait for no link, then those that are read
  // soonest. Each sequence once.
  std::vector<Resumed> sequences{};
  double link_seconds = 0;     // of the stage that reads longest
  double compute_seconds = 0;  // of all that is computed again
  double seconds = 0;          // until everything runs on
  // Had all been read that could be; had every sequence with something to read been computed from
  // its first token.
  double seconds_if_read = 0;
  double seconds_if_computed = 0;
};

// invalid_argument, naming the field: lists that are not one for each stage, no stage, a stage or a
// keeper that the pipeline does not have, an empty prompt, more than 2^31 tokens, a sequence that
// is named twice, a rate that is not above 0 and finite.
[[nodiscard]] AQUA_API Result<RecoveryPlan> plan_recovery(const RecoveryInput& input);

}  // namespace aqua::kv_stream
