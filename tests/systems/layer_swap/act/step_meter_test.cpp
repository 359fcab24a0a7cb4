// SPDX-License-Identifier: Apache-2.0
#include "systems/layer_swap/act/step_meter.hpp"

#include <gtest/gtest.h>

#include <future>
#include <optional>

#include "aqua/emulated.hpp"
#include "aqua/runtime.hpp"
#include "aqua/side_stream.hpp"
#include "base/internals.hpp"

namespace aqua::layer_swap {
namespace {

using namespace aqua::literals;
using Span = StepMeter::Span;

class StepMeters : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = Runtime::open({.device = "emu:0",
                                 .coordinator = "none",
                                 .host_bytes = 2_MiB,
                                 .emulated = {.total_bytes = 16_MiB}});
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    runtime_ = std::move(*opened);
    engine_.emplace(*SideStream::create(*runtime_));
    link_.emplace(*SideStream::create(*runtime_));
    meter_.emplace(detail::Internals::view(*runtime_));
  }
  void wait_for_gate(SideStream& stream) {
    ASSERT_TRUE(emulated::launch(*runtime_, stream.stream(), [open = gate_.get_future().share()] {
                  open.wait();
                }).ok());
  }

  std::optional<Runtime> runtime_;
  std::optional<SideStream> engine_, link_;
  std::optional<StepMeter> meter_;
  std::promise<void> gate_;
};

TEST_F(StepMeters, AStepThatWaitsForTheLinkStallsAndIsToldWhenAllOfItIsOver) {
  meter_->begin(engine_->stream(), true);
  meter_->start(Span::fetch, link_->stream());
  wait_for_gate(*link_);
  meter_->stop(link_->stream());
  meter_->fetched(7);
  meter_->start(Span::stall, engine_->stream());
  ASSERT_TRUE(engine_->run_after(link_->stream()).ok());
  meter_->stop(engine_->stream());
  meter_->end(engine_->stream(), 4, 5);
  EXPECT_FALSE(meter_->next());
  gate_.set_value();
  ASSERT_TRUE(engine_->wait().ok());
  const auto told = meter_->next();
  ASSERT_TRUE(told);
  EXPECT_GT(told->stall_seconds, 0);
  EXPECT_GT(told->fetch_seconds, 0);
  EXPECT_EQ(told->write_seconds, 0);
  EXPECT_LT(told->compute_seconds, told->seconds());
  EXPECT_EQ(told->fetched_blocks, 7U);
  EXPECT_EQ(told->blocks_used, 4U);
  EXPECT_EQ(told->blocks_wanted, 5U);
  EXPECT_TRUE(told->resizing);
  EXPECT_FALSE(meter_->next()) << "once";
}

TEST_F(StepMeters, StepsThatWereDroppedOrCouldNotBeMarkedAreNotTold) {
  meter_->start(Span::fetch, link_->stream());  // outside of a step
  meter_->stop(link_->stream());
  meter_->begin(engine_->stream(), false);
  meter_->drop();
  meter_->begin(engine_->stream(), false);
  meter_->start(Span::fetch, Stream{12345});
  meter_->stop(Stream{12345});
  meter_->end(engine_->stream(), 1, 1);
  meter_->begin(engine_->stream(), false);
  meter_->end(engine_->stream(), 2, 1);
  ASSERT_TRUE(engine_->wait().ok());
  const auto told = meter_->next();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->blocks_used, 2U);
  meter_->begin(engine_->stream(), false);
  meter_->end(engine_->stream(), 3, 1);
  meter_->clear();
  ASSERT_TRUE(engine_->wait().ok());
  EXPECT_FALSE(meter_->next());
}

TEST_F(StepMeters, OnlyTheLastStepsAreKeptForWhoNeverAsks) {
  const auto steps = static_cast<std::uint32_t>(StepMeter::kMostKept) + 5;
  for (std::uint32_t step = 0; step < steps; ++step) {
    meter_->begin(engine_->stream(), false);
    meter_->end(engine_->stream(), step, 0);
  }
  ASSERT_TRUE(engine_->wait().ok());
  for (std::uint32_t step = 5; step < steps; ++step) EXPECT_EQ(meter_->next()->blocks_used, step);
  EXPECT_FALSE(meter_->next());
}

}  // namespace
}  // namespace aqua::layer_swap
