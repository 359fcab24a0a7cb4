// SPDX-License-Identifier: Apache-2.0
// OpenLoop: requests come when they come, a scheduler of aqua/schedule decides every iteration,
// llama.cpp computes it, and preempted sequences wait in process memory. As the simulator has it:
// who has come is noticed at the boundary of iterations, and copies stop the engine.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "aqua/schedule/scheduler.hpp"
#include "batch_engine.hpp"
#include "engine_clock.hpp"
#include "run_log.hpp"

namespace aqua::llama_example {

struct Asked {
  double arrival = 0;  // seconds
  std::vector<Token> prompt{};
  std::uint32_t output_tokens = 1;
};

class OpenLoop {
 public:
  // `log` names policy, options and engine; the rest is filled in. All outlive this.
  OpenLoop(BatchEngine& engine, unsigned slots, const std::vector<Asked>& requests, RunLog& log);
  // Until all have their tokens, by a clock that starts now. Throws Failure.
  void run(EngineClock::Kind clock);

 private:
  struct Sequence {
    std::vector<Token> tokens{};  // known: prompt and answer
    std::uint32_t generated = 0;
    std::optional<unsigned> slot{};
    std::vector<std::byte> parked{};
  };

  [[nodiscard]] double now() const { return clock_->now(); }
  void admit();
  [[nodiscard]] bool page(const schedule::Batch& batch);
  void page_out(const schedule::Preemption& order);
  void page_in(const schedule::PageIn& order);
  void compute(const schedule::Batch& batch, double since);
  void take(std::uint64_t id, Token token, double at);
  [[nodiscard]] unsigned slot_of(Sequence& sequence);
  void leave(Sequence& sequence);

  BatchEngine& engine_;
  const std::vector<Asked>& requests_;
  RunLog& log_;
  std::unique_ptr<schedule::Scheduler> scheduler_;
  std::vector<unsigned> free_slots_;
  std::map<std::uint64_t, Sequence> sequences_;  // by their place in requests_
  std::size_t arrived_ = 0;
  std::optional<EngineClock> clock_{};  // while it runs
};

}  // namespace aqua::llama_example
