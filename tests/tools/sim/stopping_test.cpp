// SPDX-License-Identifier: Apache-2.0
// An engine that stops for its copies: what its scheduler is told, and at what time.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "tests/tools/sim/ground.hpp"
#include "tools/sim/engine/arrivals.hpp"
#include "tools/sim/engine/world.hpp"

namespace aqua::sim::test {
namespace {

using schedule::Batch;
using schedule::SequenceId;

constexpr double kOut = 0.1, kIn = 0.2;  // seconds that the engine stops for a copy

// auto, and when it ordered each page-in, by the time that it was told last.
class Watched final : public schedule::Scheduler {
 public:
  explicit Watched(const schedule::SchedulerOptions& options)
      : real_(must(schedule::make_scheduler("auto", options))) {}

  [[nodiscard]] std::size_t returns() const { return returns_; }
  [[nodiscard]] double shortest_return() const { return shortest_return_; }

  [[nodiscard]] std::string_view name() const noexcept override { return real_->name(); }
  Result<void> arrive(const schedule::Request& request) override { return real_->arrive(request); }
  Result<void> finish(SequenceId id) override { return real_->finish(id); }
  Result<void> depart(SequenceId id) override { return real_->depart(id); }
  Result<void> hold(SequenceId id) override { return real_->hold(id); }
  Result<void> release(SequenceId id) override { return real_->release(id); }
  Result<void> paged_out(SequenceId id, Tier to) override { return real_->paged_out(id, to); }
  Result<void> paged_in(SequenceId id) override {
    returns_ += 1;
    shortest_return_ = std::min(shortest_return_, time_ - ordered_.at(id));
    return real_->paged_in(id);
  }
  Result<void> copy_failed(SequenceId id) override { return real_->copy_failed(id); }
  Result<void> moved(SequenceId id, Tier to) override { return real_->moved(id, to); }
  Result<void> lost(SequenceId id) override { return real_->lost(id); }
  void set_device_blocks(std::uint32_t blocks) override { real_->set_device_blocks(blocks); }
  void set_swap_blocks(std::uint32_t blocks) override { real_->set_swap_blocks(blocks); }
  void set_swap_tier(Tier tier) override { real_->set_swap_tier(tier); }
  Result<void> set_time(double seconds) override {
    time_ = seconds;
    const Result<void> told = real_->set_time(seconds);
    EXPECT_TRUE(told.ok()) << told.error().message;
    return told;
  }
  Result<void> set_seconds_per_block(Tier tier, double seconds) override {
    return real_->set_seconds_per_block(tier, seconds);
  }
  const Batch& next() override {
    const Batch& batch = real_->next();
    for (const schedule::PageIn& order : batch.page_ins) ordered_[order.id] = time_;
    return batch;
  }
  Result<void> commit(std::uint32_t iterations) override { return real_->commit(iterations); }
  [[nodiscard]] Result<schedule::SequenceStatus> sequence(SequenceId id) const override {
    return real_->sequence(id);
  }
  [[nodiscard]] schedule::SchedulerStatus status() const noexcept override {
    return real_->status();
  }

 private:
  std::unique_ptr<schedule::Scheduler> real_;
  double time_ = 0;
  std::map<SequenceId, double> ordered_;
  std::size_t returns_ = 0;
  double shortest_return_ = 1e9;
};

TEST(Stopping, AReturnIsToldAtTheTimeAtWhichItsCopyIsOver) {
  Watched scheduler({.budget_tokens = 128,
                     .slice_iterations = 16,
                     .min_prefill_tokens = 32,
                     .device_blocks = 48,
                     .swap_tier = Tier::host});
  const CostFit costs{.points = {1, 128}, .seconds = {0.01, 0.01}};
  const CostModel cost = CostModel::fitted(costs, 128);
  const Workload work =
      must(poisson(constant_trace(100, 60), {.requests = 30, .per_second = 20}, 1));
  Network network;
  SwapSpace swap(nullptr);
  RequestTable table(work);
  Engine engine(table, cost, scheduler, swap, network, nullptr,
                {.paging = {.method = PagingMethod::stopping,
                            .stop_out = {.latency_s = kOut},
                            .stop_in = {.latency_s = kIn}},
                 .kv_bytes_per_token = 1});
  Arrivals arrivals(work, engine);
  ASSERT_TRUE(run_world(network, {&arrivals, &engine}));
  EXPECT_GT(scheduler.returns(), 5U);
  EXPECT_GE(scheduler.shortest_return(), kIn - 1e-9);
}

}  // namespace
}  // namespace aqua::sim::test
