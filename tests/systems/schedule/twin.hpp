// SPDX-License-Identifier: Apache-2.0
// Twin: a scheduler and its naive second, told the same, held against each other at each decision.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "aqua/schedule/scheduler.hpp"

namespace aqua::schedule::test {

class Twin final : public Scheduler {
 public:
  Twin(std::unique_ptr<Scheduler> fast, std::unique_ptr<Scheduler> naive)
      : fast_(std::move(fast)), naive_(std::move(naive)) {}
  std::string_view name() const noexcept override { return fast_->name(); }
  Result<void> arrive(const Request& request) override {
    return both([&](Scheduler& s) { return s.arrive(request); });
  }
  Result<void> finish(SequenceId id) override {
    return both([&](Scheduler& s) { return s.finish(id); });
  }
  Result<void> depart(SequenceId id) override {
    return both([&](Scheduler& s) { return s.depart(id); });
  }
  Result<void> hold(SequenceId id) override {
    return both([&](Scheduler& s) { return s.hold(id); });
  }
  Result<void> release(SequenceId id) override {
    return both([&](Scheduler& s) { return s.release(id); });
  }
  Result<void> paged_out(SequenceId id, Tier to) override {
    return both([&](Scheduler& s) { return s.paged_out(id, to); });
  }
  Result<void> paged_in(SequenceId id) override {
    return both([&](Scheduler& s) { return s.paged_in(id); });
  }
  Result<void> copy_failed(SequenceId id) override {
    return both([&](Scheduler& s) { return s.copy_failed(id); });
  }
  Result<void> moved(SequenceId id, Tier to) override {
    return both([&](Scheduler& s) { return s.moved(id, to); });
  }
  Result<void> lost(SequenceId id) override {
    return both([&](Scheduler& s) { return s.lost(id); });
  }
  void set_device_blocks(std::uint32_t blocks) override {
    fast_->set_device_blocks(blocks);
    naive_->set_device_blocks(blocks);
  }
  void set_swap_blocks(std::uint32_t blocks) override {
    fast_->set_swap_blocks(blocks);
    naive_->set_swap_blocks(blocks);
  }
  void set_swap_tier(Tier tier) override {
    fast_->set_swap_tier(tier);
    naive_->set_swap_tier(tier);
  }
  Result<void> set_time(double seconds) override {
    return both([&](Scheduler& s) { return s.set_time(seconds); });
  }
  Result<void> set_seconds_per_block(Tier tier, double seconds) override {
    return both([&](Scheduler& s) { return s.set_seconds_per_block(tier, seconds); });
  }
  // The naive one plans one iteration at a time and says nothing about `repeat`: its commit()
  // plans each of them.
  const Batch& next() override {
    const Batch& mine = fast_->next();
    const Batch& theirs = naive_->next();
    EXPECT_EQ(mine.preemptions, theirs.preemptions);
    EXPECT_EQ(mine.page_ins, theirs.page_ins);
    EXPECT_EQ(mine.prefills, theirs.prefills);
    EXPECT_EQ(mine.decodes, theirs.decodes);
    EXPECT_EQ(mine.too_large, theirs.too_large);
    EXPECT_EQ(fast_->status(), naive_->status());
    decisions_ +=
        mine.preemptions.size() + mine.page_ins.size() + mine.prefills.size() + mine.decodes.size();
    return mine;
  }
  Result<void> commit(std::uint32_t iterations) override {
    return both([&](Scheduler& s) { return s.commit(iterations); });
  }
  Result<SequenceStatus> sequence(SequenceId id) const override { return fast_->sequence(id); }
  SchedulerStatus status() const noexcept override { return fast_->status(); }

  std::size_t decisions() const noexcept { return decisions_; }

 private:
  template <typename Call>
  Result<void> both(Call call) {
    Result<void> first = call(*fast_);
    if (first.ok()) {
      EXPECT_TRUE(call(*naive_).ok());
    }
    return first;
  }

  std::unique_ptr<Scheduler> fast_, naive_;
  std::size_t decisions_ = 0;
};

}  // namespace aqua::schedule::test
