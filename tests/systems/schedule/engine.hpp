// SPDX-License-Identifier: Apache-2.0
// An engine made of numbers, for tests of schedulers: it keeps its own account of every sequence
// and block, from what it is told alone, and holds each batch against it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/schedule/scheduler.hpp"

namespace aqua::schedule::test {

struct EngineSequence {
  std::uint32_t prompt = 0;
  std::uint32_t output = 0;  // tokens until it ends
  std::uint32_t computed = 0;
  std::uint32_t generated = 0;
  std::uint32_t blocks = 0;  // on the device
  enum class Where { nowhere, device, going, away, coming } where = Where::nowhere;
  bool held = false;
  bool to_hold = false;           // once the iteration that computes it is over
  std::uint64_t waits_since = 0;  // iteration of the last service, or of the arrival
  std::uint64_t longest_wait = 0;
};

class Engine {
 public:
  Engine(std::string_view policy, const SchedulerOptions& options)
      : Engine(*make_scheduler(policy, options), options) {}
  Engine(std::unique_ptr<Scheduler> scheduler, const SchedulerOptions& options)
      : options_(options), scheduler_(std::move(scheduler)) {}

  Scheduler& scheduler() { return *scheduler_; }
  const std::map<std::uint64_t, EngineSequence>& sequences() const { return sequences_; }
  const SchedulerOptions& options() const { return options_; }
  std::uint64_t iterations() const { return iterations_; }
  std::uint64_t generated() const { return generated_; }
  std::size_t preemptions() const { return preemptions_; }

  std::uint64_t arrive(std::uint32_t prompt, std::uint32_t output, bool tell_output = true,
                       double weight = 1, std::uint64_t tenant = 0, std::uint32_t cached = 0);
  // A request that comes as it says, but for its number; `output` as above.
  std::uint64_t come(Request request, std::uint32_t output);
  void finish(std::uint64_t id);
  void depart(std::uint64_t id);  // to another engine
  // False when it is held already or has no KV on the device.
  bool hold(std::uint64_t id);
  void release(std::uint64_t id);
  void set_device_blocks(std::uint32_t blocks);
  void set_swap_blocks(std::uint32_t blocks);
  // The copy under way of this sequence is over, or failed.
  void end_copy(std::uint64_t id, bool failed = false, Tier tier = Tier::peer);
  void lose(std::uint64_t id);

  // next(), held against the account; moves become copies under way.
  const Batch& plan();
  // Accepts the plan; who has all its tokens finishes. Returns what finished.
  std::vector<std::uint64_t> run(std::uint32_t iterations = 1);
  // An iteration of an engine whose copies take no time: plans until nothing moves, then runs.
  std::vector<std::uint64_t> step();
  std::vector<std::uint64_t> copies() const;  // ids with a copy under way

 private:
  void check_compute(const Batch& batch);
  void begin_holds();
  std::uint32_t blocks_for(std::uint64_t tokens) const {
    return static_cast<std::uint32_t>((tokens + options_.block_tokens - 1) / options_.block_tokens);
  }
  std::uint32_t held() const;

  SchedulerOptions options_;
  std::unique_ptr<Scheduler> scheduler_;
  std::map<std::uint64_t, EngineSequence> sequences_;
  Batch batch_;  // the last plan
  std::uint64_t next_id_ = 1;
  std::uint64_t iterations_ = 0;
  std::uint64_t generated_ = 0;
  std::size_t preemptions_ = 0;
};

}  // namespace aqua::schedule::test
