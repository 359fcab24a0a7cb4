// SPDX-License-Identifier: Apache-2.0
// Transfers beside graphs that the engine captures, with the answers of a driver.
#include <gtest/gtest.h>

#include "tests/transfer/mover_fixture.hpp"

namespace aqua::test {
namespace {

using transfer::Direction;

class StreamCapture : public MoverTest {
 protected:
  bool capture(Stream captured, bool capturing) {
    return driver->capture(reinterpret_cast<void*>(captured.native), capturing);
  }
  const stand_in::Hooks* const driver = stand_in::hooks();
};

TEST_P(StreamCapture, ACapturingStreamIsRefusedUnspoiltAndThenTaken) {
  auto transfer = must(mover->prepare(request(Direction::offload)));
  const std::size_t queued = driver->pending();  // the poisoning of fresh buffers
  capture(stream, true);
  EXPECT_EQ(transfer.post(stream).error().code, Code::failed_precondition);
  EXPECT_EQ(mover->in_flight(), 0U);
  EXPECT_EQ(driver->pending(), queued);
  EXPECT_TRUE(capture(stream, false)) << "the engine's graph is spoilt";
  must(transfer.post(stream));
  must(transfer.ticket().wait());
  EXPECT_TRUE(tensor.read(kOffset, packed(), stream) == packed_form(cache.model));
}

TEST_P(StreamCapture, TransfersLeaveAnotherStreamsCaptureAlone) {
  const Stream engine = must(dev->create_stream());
  capture(engine, true);
  auto transfer = must(mover->prepare(request(Direction::offload)));
  must(transfer.post(stream));
  while (!must(transfer.ticket().done())) {
  }
  EXPECT_TRUE(tensor.read(kOffset, packed(), stream) == packed_form(cache.model));
  EXPECT_TRUE(capture(engine, false)) << "the engine's graph is spoilt";
  must(dev->destroy_stream(engine));
}

TEST_P(StreamCapture, TheLegacyStreamIsRefusedWhileABlockingStreamIsCaptured) {
  auto transfer = must(mover->prepare(request(Direction::offload)));
  driver->capture_blocking(true);
  EXPECT_TRUE(dev->capturing({}));
  EXPECT_EQ(transfer.post({}).error().code, Code::failed_precondition);
  driver->capture_blocking(false);
  must(transfer.post({}));
  must(transfer.ticket().wait());
  EXPECT_TRUE(tensor.read(kOffset, packed(), stream) == packed_form(cache.model));
}

INSTANTIATE_TEST_SUITE_P(Devices, StreamCapture, every_device_and_way(),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace aqua::test
