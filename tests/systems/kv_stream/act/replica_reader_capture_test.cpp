// SPDX-License-Identifier: Apache-2.0
// A ReplicaReader beside graphs that the engine captures.
#include <gtest/gtest.h>

#include <optional>

#include "aqua/kv_stream/replica_reader.hpp"
#include "base/internals.hpp"
#include "device/memfd/device.hpp"
#include "runtime/impl.hpp"
#include "tests/systems/kv_stream/act/replicas_fixture.hpp"

namespace aqua {
namespace {

using test::ids_of;
using test::ReplicaStage;

using ReplicaReaderCapture = test::ReplicasFixture;

TEST_F(ReplicaReaderCapture, WhatCannotBeDroppedWhileAGraphIsCapturedIsBehindIt) {
  {
    ReplicaStage dead(keeper_.socket());
    dead.replicate();
    write(dead, 7, ids_of(1, 20), 20);
  }
  ReplicaStage stage(keeper_.socket());
  std::optional reader = stage.reader();
  device::Device& device = detail::Internals::impl(stage.runtime()).device();
  device::pretend_capture(device, stage.stream());
  const auto finished = reader->finish(stage.stream());
  device::pretend_capture(device, {});
  ASSERT_FALSE(finished.ok());
  EXPECT_EQ(finished.error().code, Code::failed_precondition) << finished.error().message;
  EXPECT_EQ(kept(), 1U);
  test::succeeds(reader->finish(stage.stream()));
  reader.reset();
  EXPECT_EQ(kept(), 0U);
}

// CUDA's legacy stream is no good while another one is captured.
TEST_F(ReplicaReaderCapture, WhatIsOfOthersIsClosedAgainWhileAGraphIsCaptured) {
  ReplicaStage early(keeper_.socket()), late(keeper_.socket()), stage(keeper_.socket());
  auto options = stage.options();
  options.owner.stage = 5;
  early.replicate(options);
  write(early, 7, ids_of(1, 20), 20);
  device::pretend_capture(detail::Internals::impl(stage.runtime()).device(), Stream{});
  std::optional reader = stage.reader();
  late.replicate(options);
  write(late, 7, ids_of(2, 20), 20);
  test::succeeds(reader->finish(stage.stream()));
  EXPECT_EQ(reader->status().unopened, 0U);
  reader.reset();
  EXPECT_EQ(kept(), 2U);
}

}  // namespace
}  // namespace aqua
