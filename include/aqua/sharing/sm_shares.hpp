// SPDX-License-Identifier: Apache-2.0
// SmShares divides a GPU among engines that compute on it at the same time: what part of the
// multiprocessors each one gets, and how many blocks of a KV cache, by what is asked of it. Popular
// models get more, and get it when they become popular.
//
//   auto shares = aqua::sharing::SmShares::create(3, {.kv_blocks = 4096});
//   while (serving()) {  // once a second, say
//     const std::vector<aqua::sharing::EngineLoad> loads = measure();
//     auto changed = shares->decide(loads);
//     if (changed.ok() && *changed) apply(*shares);
//   }
//
// Applying them is the caller's: by green contexts or MPS for the multiprocessors, by quotas for
// the blocks of a KV pool. No part of the library applies them, and of its programs only the
// simulator does, to GPUs that it computes.
//
// An engine's utilization with a share s is the sum over its phases of busy / speed(s): the part of
// the time that it has to compute. The shares are those that make the highest utilization of all
// the least that it can be. Where that is above 0.8, somebody falls behind whatever is done: then
// as many engines as can be keep up, and the others divide the rest. KV blocks are divided fairly:
// who wants little has it. Shares change only where that is worth it.
//
// Popularity as the seed asks for it (Request-level GPU Sharing on vLLM); that decoding loses
// little by having fewer multiprocessors is MuxServe's observation, and comes in by the speed
// curves.
//
// Threads: not thread-safe. Pure: no device, clock or I/O; the same calls give the same answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aqua/export.h"
#include "aqua/result.hpp"

namespace aqua::sharing {

// How fast a phase computes with a share of the multiprocessors, over its speed with all of them.
struct SpeedCurve {
  struct Point {
    double share = 1;
    double speed = 1;
  };
  // Ascending in both, the last one {1, 1}; straight lines between them, the first from {0, 0}.
  // Prefill is bound by arithmetic: {{1, 1}}. Decode is bound by memory: {{0.4, 1}, {1, 1}}, say.
  std::vector<Point> points{{1, 1}};
};
// At a share above 0 and up to 1, of a curve that has been checked.
[[nodiscard]] AQUA_API double speed_at(const SpeedCurve& curve, double share);

struct PhaseLoad {
  // Seconds of every second that it would compute if it had all multiprocessors; what waits counts.
  double busy = 0;
  SpeedCurve speed{};
  // Whether work that is not computed at once is all to be computed later, as prompts are. Of
  // decode it is not: a slower one has more tokens in each iteration, at hardly more cost.
  bool piles_up = true;
};

struct EngineLoad {
  std::vector<PhaseLoad> phases{};  // prefill and decode; one where they are in two processes
  double kv_blocks = 0;             // that it could use
};

struct ShareOptions {
  std::uint32_t units = 20;     // that the multiprocessors are divided into; 1,024 at most
  std::uint32_t kv_blocks = 0;  // that all engines have together; 0: they are not divided here
  // The least that each engine gets of multiprocessors and of blocks, as a part of an equal share,
  // in whole units and blocks: an engine that is asked for little is still to be quick when it is.
  double least = 0.5;
  // Shares stay as they are unless the highest utilization falls by more than this part of it, or
  // more engines keep up. Blocks do unless somebody who lacks some has more of them by this part.
  double worth_changing = 0.1;
};

struct EngineShare {
  double share = 0;             // of the multiprocessors; all of them add up to 1
  std::uint32_t kv_blocks = 0;  // all of them add up to ShareOptions::kv_blocks
  friend bool operator==(const EngineShare&, const EngineShare&) = default;
};

class AQUA_API SmShares {
 public:
  // Begins with equal shares. invalid_argument: no engines, more than units, or an option that
  // cannot be.
  [[nodiscard]] static Result<SmShares> create(std::size_t engines, const ShareOptions& options);

  // Whether shares or take_turns() have changed by this. Loads are in the order of the engines.
  // invalid_argument: another number of them, a load below 0 or not a number, a curve that is none;
  // nothing is changed then.
  [[nodiscard]] Result<bool> decide(std::span<const EngineLoad> loads);
  [[nodiscard]] const std::vector<EngineShare>& shares() const noexcept { return shares_; }
  // Whether so little of what piles up is asked for that all had better compute one at a time, each
  // with the whole GPU: shares then only count for their KV blocks.
  [[nodiscard]] bool take_turns() const noexcept { return take_turns_; }

 private:
  explicit SmShares(const ShareOptions& options) : options_(options) {}

  ShareOptions options_;
  std::vector<EngineShare> shares_{};
  bool take_turns_ = true;
};

// The highest utilization of all engines, with shares above 0, as many as loads and in their order.
// Loads are as decide() wants them.
[[nodiscard]] AQUA_API double highest_utilization(std::span<const EngineLoad> loads,
                                                  std::span<const EngineShare> shares);

}  // namespace aqua::sharing
