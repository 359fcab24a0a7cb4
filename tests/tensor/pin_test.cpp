// SPDX-License-Identifier: Apache-2.0
// Pins: claims on an address, and the order of work under them.
#include <limits>
#include <thread>

#include "tests/tensor/world.hpp"
#include "tests/transfer/faulty_device.hpp"

namespace aqua::tensor {
namespace {

class Pins : public World {
 protected:
  Pins() { add_slab(); }
  AquaTensor tensor_;
  void SetUp() override { tensor_ = allocate(1_MiB); }
  void TearDown() override { tensor_ = AquaTensor(); }
};

TEST_F(Pins, CoverTheRangeAskedFor) {
  const auto whole = tensor_.pin(Access::read, a_).value();
  EXPECT_EQ(whole.bytes(), 1_MiB);
  const auto part = tensor_.pin(Access::read, a_, {1000, 24}).value();
  EXPECT_EQ(part.data(), whole.data() + 1000);
  EXPECT_EQ(part.bytes(), 24U);
  const auto rest = tensor_.pin(Access::read, a_, {.offset = 1000}).value();
  EXPECT_EQ(rest.bytes(), 1_MiB - 1000);
  EXPECT_EQ(rest.tier(), Tier::peer);
}

TEST_F(Pins, OfRangesOutsideTheTensorAreRefused) {
  EXPECT_CODE(Code::invalid_argument, tensor_.pin(Access::read, a_, {.offset = 1_MiB}));
  EXPECT_CODE(Code::invalid_argument, tensor_.pin(Access::read, a_, {0, 0}));
  EXPECT_CODE(Code::invalid_argument, tensor_.pin(Access::read, a_, {1, 1_MiB}));
  EXPECT_CODE(Code::invalid_argument, tensor_.pin(Access::write, a_, {1, SIZE_MAX - 1}));
  EXPECT_CODE(Code::invalid_argument, tensor_.pin(Access::write, a_, {SIZE_MAX, 1}));
}

TEST_F(Pins, OnAStreamThatIsBeingCapturedAreRefusedAndNotCounted) {
  test::FaultyDevice device(*gpu_);
  device.capture(a_);
  TensorTable table(device, {.host = host_.get(), .peer = peer_.get()}, [] {});
  {
    AquaTensor tensor = table.allocate({.bytes = 4096}).value();
    EXPECT_CODE(Code::failed_precondition, tensor.pin(Access::read, a_));
    EXPECT_CODE(Code::failed_precondition, tensor.pin(Access::write, a_));
    EXPECT_EQ(entry_of(tensor)->pins().readers + entry_of(tensor)->pins().writers, 0U);
    EXPECT_OK(tensor.pin(Access::read, b_));
  }
  table.deferred().drain();
}

// A graph under capture takes what is recorded on its stream; such an event is never reached.
TEST_F(Pins, ReleasedOnAStreamThatIsBeingCapturedKeepTheirPlaceUntilItIsNot) {
  test::FaultyDevice device(*gpu_);
  TensorTable table(device, {.host = host_.get(), .peer = peer_.get()}, [] {});
  AquaTensor tensor = table.allocate({.bytes = 4096}).value();
  Gate gate(*gpu_, a_);
  Pin pin = tensor.pin(Access::write, a_).value();
  const Bytes bytes = some_bytes(4096, 5);
  EXPECT_OK(device.copy(device::one(pin.data(), bytes.data(), bytes.size()), a_, {}));
  device.capture(a_);
  pin.release();
  EXPECT_FALSE(tensor.lost());
  EXPECT_CODE(Code::failed_precondition, tensor.pin(Access::read, b_)) << "nobody can wait for it";
  device.capture({});
  {
    const Pin reader = tensor.pin(Access::read, b_).value();
    const auto ready = mark(b_);
    EXPECT_FALSE(reached(*ready)) << "now it waits for the work before the capture";
    gate.open();
    EXPECT_EQ(read(reader, b_), bytes);
  }
  EXPECT_OK(finish(*gpu_, b_));
  device.capture(a_);
  tensor = {};
  EXPECT_EQ(table.deferred().collect(), 0U) << "all of it was recorded before";
}

TEST_F(Pins, ReleasedOnAStreamThatIsBeingCapturedKeepAFreedTensorsPlace) {
  test::FaultyDevice device(*gpu_);
  TensorTable table(device, {.host = host_.get(), .peer = peer_.get()}, [] {});
  AquaTensor tensor = table.allocate({.bytes = 4096}).value();
  Gate gate(*gpu_, a_);
  Pin pin = tensor.pin(Access::read, a_).value();
  device.capture(a_);
  pin.release();
  tensor = {};
  EXPECT_EQ(table.deferred().collect(), 1U) << "what runs on the stream is not known";
  device.capture({});
  EXPECT_EQ(table.deferred().collect(), 1U) << "now it is, and it runs";
  gate.open();
  EXPECT_OK(finish(*gpu_, a_));
  EXPECT_EQ(table.deferred().collect(), 0U);
}

TEST_F(Pins, WhoseLastUseCannotBeRecordedAtFirstLoseNothing) {
  for (const unsigned call : {1U, 2U}) {  // creating the event, recording it
    test::FaultyDevice device(*gpu_);
    TensorTable table(device, {.host = host_.get(), .peer = peer_.get()}, [] {});
    AquaTensor tensor = table.allocate({.bytes = 4096}).value();
    Gate gate(*gpu_, a_);
    Pin pin = tensor.pin(Access::write, a_).value();
    device.refuse(call, call);
    pin.release();
    EXPECT_TRUE(device.refused_any());
    device.refuse_none();
    EXPECT_FALSE(tensor.lost());
    tensor = {};
    EXPECT_EQ(table.deferred().collect(), 1U) << call;
    gate.open();
    EXPECT_OK(finish(*gpu_, a_));
    EXPECT_EQ(table.deferred().collect(), 0U) << call;
  }
}

TEST_F(Pins, WhoseLastUseCanNeverBeRecordedAreWaitedForWhenTheTableGoes) {
  test::FaultyDevice device(*gpu_);
  TensorTable table(device, {.host = host_.get(), .peer = peer_.get()}, [] {});
  AquaTensor tensor = table.allocate({.bytes = 4096}).value();
  Gate gate(*gpu_, a_);
  const Bytes bytes = some_bytes(4096, 5);
  Pin pin = tensor.pin(Access::write, a_).value();
  EXPECT_OK(device.copy(device::one(pin.data(), bytes.data(), bytes.size()), a_, {}));
  const auto done = mark(a_);
  device.refuse(1, std::numeric_limits<unsigned>::max());
  pin.release();
  tensor = {};
  EXPECT_EQ(table.deferred().collect(), 1U);
  std::thread opener([&] { gate.open(); });
  table.deferred().drain();
  opener.join();
  EXPECT_TRUE(reached(*done));
}

TEST_F(Pins, AreCountedUntilReleasedAndMoveWithTheirHandle) {
  Pin one = tensor_.pin(Access::read, a_).value();
  Pin two = tensor_.pin(Access::write, a_).value();
  EXPECT_EQ(entry_of(tensor_)->pins().readers, 1U);
  EXPECT_EQ(entry_of(tensor_)->pins().writers, 1U);
  Pin moved = std::move(two);
  EXPECT_FALSE(two.held());  // NOLINT: a moved-from pin holds nothing
  EXPECT_EQ(entry_of(tensor_)->pins().writers, 1U);
  moved = std::move(one);
  EXPECT_EQ(entry_of(tensor_)->pins().writers, 0U);
  moved.release();
  moved.release();
  EXPECT_EQ(entry_of(tensor_)->pins().readers, 0U);
}

TEST_F(Pins, ReleasedOnAStreamThatIsNoMoreLoseNothing) {
  const Stream passing = gpu_->create_stream().value();
  const Bytes bytes = some_bytes(1_MiB, 3);
  Pin pin = tensor_.pin(Access::write, passing).value();
  post_write(pin, passing, bytes);
  ASSERT_TRUE(gpu_->destroy_stream(passing).ok());  // waits for its work
  pin.release();
  EXPECT_FALSE(tensor_.lost());
  EXPECT_EQ(read(tensor_, a_), bytes);
}

TEST_F(Pins, MakeAReaderWaitForWritesOfOtherStreams) {
  for (std::uint32_t round = 0; round < 50; ++round) {
    const Bytes bytes = some_bytes(4096, round);
    post_write(tensor_, round % 2 == 0 ? a_ : b_, bytes);
    const auto pin = tensor_.pin(Access::read, round % 2 == 0 ? b_ : a_, {0, 4096}).value();
    ASSERT_EQ(read(pin, round % 2 == 0 ? b_ : a_), bytes) << round;
  }
}

TEST_F(Pins, MakeAWriterWaitForReadersOfOtherStreams) {
  const Bytes before = some_bytes(1_MiB, 1);
  post_write(tensor_, a_, before);
  Gate gate(*gpu_, a_);
  Bytes seen(1_MiB);
  {
    const auto pin = tensor_.pin(Access::read, a_).value();
    EXPECT_OK(gpu_->copy(device::one(seen.data(), pin.data(), seen.size()), a_));
  }
  post_write(tensor_, b_, some_bytes(1_MiB, 2));
  const auto written = mark(b_);
  EXPECT_FALSE(reached(*written));
  gate.open();
  EXPECT_OK(finish(*gpu_, a_));
  EXPECT_EQ(seen, before);
  EXPECT_OK(finish(*gpu_, b_));
  EXPECT_EQ(read(tensor_, a_), some_bytes(1_MiB, 2));
}

TEST_F(Pins, MakeAWriterWaitForWritersOfOtherStreams) {
  Gate gate(*gpu_, a_);
  post_write(tensor_, a_, some_bytes(1_MiB, 1));
  post_write(tensor_, b_, some_bytes(1_MiB, 2));
  const auto written = mark(b_);
  EXPECT_FALSE(reached(*written));
  gate.open();
  EXPECT_EQ(read(tensor_, a_), some_bytes(1_MiB, 2));
}

TEST_F(Pins, LetReadersOverlap) {
  post_write(tensor_, a_, some_bytes(1_MiB, 1));
  EXPECT_OK(finish(*gpu_, a_));
  Gate gate(*gpu_, a_);
  { const auto pin = tensor_.pin(Access::read, a_).value(); }
  EXPECT_EQ(read(tensor_, b_), some_bytes(1_MiB, 1)) << "while the other reader is held up";
}

TEST_F(Pins, MayNameAnotherStreamAsTheLastUse) {
  Gate gate(*gpu_, b_);
  auto pin = tensor_.pin(Access::write, a_).value();
  post_write(pin, b_, some_bytes(1_MiB, 1));
  pin.release(b_);
  const auto reader = tensor_.pin(Access::read, a_).value();
  const auto ready = mark(a_);
  EXPECT_FALSE(reached(*ready));
  gate.open();
  EXPECT_EQ(read(reader, a_), some_bytes(1_MiB, 1));
}

TEST_F(Pins, OfManyShortLivedStreamsKeepTheirOrder) {
  for (std::uint32_t round = 0; round < 40; ++round) {
    const Stream stream = gpu_->create_stream().value();
    post_write(tensor_, stream, some_bytes(4096, round), 4096 * std::size_t{round});
    if (round % 3 == 0) {
      EXPECT_OK(gpu_->destroy_stream(stream));
    }
  }
  const Bytes bytes = read(tensor_, a_);
  for (std::uint32_t round = 0; round < 40; ++round) {
    const auto at = bytes.begin() + 4096 * static_cast<std::ptrdiff_t>(round);
    EXPECT_EQ(Bytes(at, at + 4096), some_bytes(4096, round)) << round;
  }
}

TEST_F(Pins, OfLostBytesAnswerDataLossAndOldOnesStayValid) {
  post_write(tensor_, a_, some_bytes(1_MiB, 1));
  auto pin = tensor_.pin(Access::read, a_).value();
  EXPECT_TRUE(entry_of(tensor_)->lose());
  EXPECT_TRUE(tensor_.lost());
  EXPECT_CODE(Code::data_loss, tensor_.pin(Access::read, a_));
  EXPECT_CODE(Code::data_loss, tensor_.pin(Access::write, a_));
  EXPECT_EQ(read(pin, a_), some_bytes(1_MiB, 1));
  EXPECT_EQ(peer_->stats().allocations, 1U);
  pin.release();
  table_->deferred().drain();
  EXPECT_EQ(peer_->stats().allocations, 0U);
  EXPECT_FALSE(entry_of(tensor_)->lose()) << "its owner would be told again";
}

}  // namespace
}  // namespace aqua::tensor
