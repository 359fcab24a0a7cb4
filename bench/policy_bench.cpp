// SPDX-License-Identifier: Apache-2.0
// What a scheduling decision costs as the number of sequences grows: memory holds about sixty
// of them, all others wait or are swapped. One step is what an engine with instant copies does in
// an iteration, of ten milliseconds by its clock: plan, move, plan again, commit, replace who
// finished.
//
//   policy_bench --benchmark_format=json
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "aqua/schedule/scheduler.hpp"

namespace {

using namespace aqua::schedule;

class Load {
 public:
  Load(const std::string& policy, std::uint32_t sequences)
      : scheduler_(*make_scheduler(
            policy, {.budget_tokens = 512, .slice_iterations = 16, .device_blocks = 2048})) {
    for (std::uint32_t i = 0; i < sequences; ++i) arrive();
  }

  // Decisions taken: entries of batches, moves, arrivals and completions.
  std::uint64_t step() {
    std::uint64_t decisions = 0;
    must(scheduler_->set_time(now_s_));
    now_s_ += 0.01;
    const Batch* batch = &scheduler_->next();
    for (; batch->moves(); batch = &scheduler_->next()) {
      decisions += batch->preemptions.size() + batch->page_ins.size();
      const std::vector<Preemption> out = batch->preemptions;
      const std::vector<PageIn> in = batch->page_ins;
      for (const Preemption& p : out) {
        if (p.how == Preemption::How::swap) must(scheduler_->paged_out(p.id, aqua::Tier::peer));
      }
      for (const PageIn& p : in) must(scheduler_->paged_in(p.id));
    }
    decisions += batch->prefills.size() + batch->decodes.size();
    done_.clear();
    for (const PrefillChunk& chunk : batch->prefills) {
      if (chunk.last) serve(chunk.id);
    }
    for (const SequenceId id : batch->decodes) serve(id);
    must(scheduler_->commit());
    for (const SequenceId id : done_) {
      must(scheduler_->finish(id));
      left_.erase(static_cast<std::uint64_t>(id));
      arrive();
      decisions += 2;
    }
    return decisions;
  }

 private:
  static void must(const aqua::Result<void>& result) {
    if (!result.ok()) std::abort();
  }
  void arrive() {
    const auto prompt = 64 + static_cast<std::uint32_t>(random_() % 512);
    const auto output = 16 + static_cast<std::uint32_t>(random_() % 256);
    left_[next_] = output;
    must(scheduler_->arrive({.id = SequenceId{next_},
                             .prompt_tokens = prompt,
                             .max_new_tokens = output,
                             .tenant = TenantId{next_ % 16}}));
    next_ += 1;
  }
  void serve(SequenceId id) {
    if (--left_[static_cast<std::uint64_t>(id)] == 0) done_.push_back(id);
  }

  std::unique_ptr<Scheduler> scheduler_;
  std::mt19937_64 random_{1};
  std::unordered_map<std::uint64_t, std::uint32_t> left_;
  std::vector<SequenceId> done_;
  std::uint64_t next_ = 1;
  double now_s_ = 0;
};

void decide(benchmark::State& state, const std::string& policy) {
  Load load(policy, static_cast<std::uint32_t>(state.range(0)));
  for (int i = 0; i < 200; ++i) load.step();
  std::uint64_t decisions = 0;
  for (auto _ : state) decisions += load.step();
  state.counters["decision"] = benchmark::Counter(
      static_cast<double>(decisions), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["per_step"] =
      benchmark::Counter(static_cast<double>(decisions), benchmark::Counter::kAvgIterations);
}

}  // namespace

int main(int argc, char** argv) {
  for (const std::string& policy : scheduler_names()) {
    benchmark::RegisterBenchmark(policy.c_str(),
                                 [policy](benchmark::State& state) { decide(state, policy); })
        ->RangeMultiplier(10)
        ->Range(100, 100'000);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
