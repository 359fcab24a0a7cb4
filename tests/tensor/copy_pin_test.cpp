// SPDX-License-Identifier: Apache-2.0
// Copies into a tensor that moves: they go to both places, so that a tensor written in every step
// of an engine moves without being copied again, and its writers wait for no flip.
#include "tests/tensor/world.hpp"

namespace aqua::tensor {
namespace {

using Round = TensorEntry::Round;

class CopyPins : public World {
 protected:
  CopyPins() { add_slab(); }
  void SetUp() override {
    tensor_ = allocate(kBytes);
    post_write(tensor_, a_, bytes_);
  }
  void TearDown() override {
    tensor_ = AquaTensor();
    EXPECT_OK(gpu_->destroy_stream(m_));
  }
  [[nodiscard]] TensorEntry& entry() { return *entry_of(tensor_); }
  [[nodiscard]] Round step(bool pressing = false) { return entry().step_move(m_, pressing); }
  [[nodiscard]] TensorEntry::CopyPins pins(std::size_t offset, std::size_t bytes) {
    return entry().pin_for_copy(b_, {offset, bytes}).value();
  }
  // Changes `bytes_` and the tensor alike, as one copy to every place that is pinned.
  void write(const TensorEntry::CopyPins& pins, std::size_t offset, std::uint32_t seed) {
    const Bytes news = some_bytes(pins.here.bytes(), seed);
    std::copy(news.begin(), news.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
    post_write(pins.here, b_, news);
    if (pins.there.held()) post_write(pins.there, b_, news);
  }

  static constexpr std::size_t kBytes = 1_MiB + 1000;
  Stream m_ = gpu_->create_stream().value();
  Bytes bytes_ = some_bytes(kBytes, 1);
  AquaTensor tensor_;
};

TEST_F(CopyPins, OfATensorThatStaysNameOnePlace) {
  const auto there = pins(1000, 24);
  EXPECT_EQ(there.here.data(), address(tensor_) + 1000);
  EXPECT_EQ(there.here.bytes(), 24U);
  EXPECT_FALSE(there.there.held());
  EXPECT_CODE(Code::invalid_argument, entry().pin_for_copy(b_, {kBytes, 1}));
}

TEST_F(CopyPins, WhatIsWrittenWhileTheTensorMovesIsNotCopiedAgain) {
  Gate gate(*gpu_, m_);  // the round waits while the copies are posted
  EXPECT_OK(entry().begin_move(nullptr, m_));
  for (unsigned i = 0; i < 5; ++i) {
    const auto both = pins(200'000 * i, 3000);
    ASSERT_TRUE(both.there.held());
    write(both, 200'000 * i, i);
  }
  EXPECT_EQ(step(), Round::running);
  gate.open();
  entry().wait_round();
  EXPECT_EQ(step(), Round::moved) << "no second round";
  EXPECT_EQ(tensor_.tier(), Tier::host);
  EXPECT_EQ(read(tensor_, a_), bytes_);
}

TEST_F(CopyPins, AWriterOfCopiesWaitsForNoFlip) {
  EXPECT_OK(entry().begin_move(nullptr, m_));
  for (unsigned round = 0; round < TensorEntry::kFreeRounds; ++round) {
    post_write(tensor_, b_, some_bytes(1000, round), 0);  // by a pin that leaves it dirty
    entry().wait_round();
    EXPECT_EQ(step(), Round::again);
  }
  // Other writers would wait until this thread has taken the next step.
  write(pins(0, 1000), 0, 7);
  entry().wait_round();
  EXPECT_EQ(step(), Round::moved);
  EXPECT_EQ(read(tensor_, a_), bytes_);
}

// An engine's thread takes them: it is told to come back, and not kept.
TEST_F(CopyPins, AWriterOfCopiesWaitsForNoReaderOfTheOldPlace) {
  auto reader = tensor_.pin(Access::read, a_).value();
  evacuate(tensor_);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_CODE(Code::unavailable, entry().pin_for_copy(b_, {0, 1000}));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, TensorEntry::kWritePatience);
  EXPECT_EQ(read(reader, a_), bytes_);
  reader.release();
  write(pins(0, 1000), 0, 8);
  EXPECT_EQ(read(tensor_, a_), bytes_);
}

// The copy would read what they are writing.
TEST_F(CopyPins, TakenBeforeTheMoveTheyAreOverBeforeAnythingIsCopied) {
  {
    const auto one = pins(5000, 9000);
    const auto before = gpu_->copy_counts().each;
    EXPECT_OK(entry().begin_move(nullptr, m_));
    entry().wait_round();
    EXPECT_EQ(step(), Round::pinned);
    EXPECT_EQ(gpu_->copy_counts().each, before);
    write(one, 5000, 3);
  }
  EXPECT_EQ(step(), Round::again);
  entry().wait_round();
  EXPECT_EQ(step(), Round::moved);
  EXPECT_EQ(read(tensor_, a_), bytes_);
}

// Nothing has been copied there yet that would have waited for the reader.
TEST_F(CopyPins, WriteThePlaceMovedToBehindItsEarlierReaders) {
  evacuate(tensor_);
  const Bytes before = bytes_;
  Bytes seen(kBytes);
  Gate gate(*gpu_, a_);
  {
    const auto pin = tensor_.pin(Access::read, a_).value();
    EXPECT_OK(gpu_->copy(device::one(seen.data(), pin.data(), kBytes), a_));
  }
  promote(tensor_);
  auto held = tensor_.pin(Access::write, b_).value();
  EXPECT_OK(entry().begin_move(nullptr, m_));
  {
    const auto both = pins(0, kBytes);
    ASSERT_TRUE(both.there.held());
    write(both, 0, 6);
  }
  const auto written = mark(b_);
  EXPECT_FALSE(reached(*written));
  gate.open();
  EXPECT_OK(finish(*gpu_, a_));
  EXPECT_EQ(seen, before);
  held.release();
  entry().wait_round();
  while (step() == Round::again) entry().wait_round();
  EXPECT_EQ(tensor_.tier(), Tier::host);
  EXPECT_EQ(read(tensor_, a_), bytes_);
}

TEST_F(CopyPins, ARoundThatWasRepeatedUnderThemCopiesTheirRangeAgain) {
  EXPECT_OK(entry().begin_move(nullptr, m_));
  {
    const auto both = pins(5000, 9000);
    ASSERT_TRUE(both.there.held());
    EXPECT_OK(entry().repeat_round(a_));  // may copy before the write and arrive behind it
    entry().wait_round();
    write(both, 5000, 4);
  }
  EXPECT_EQ(step(), Round::again);
  entry().wait_round();
  EXPECT_EQ(step(), Round::moved);
  EXPECT_EQ(read(tensor_, a_), bytes_);
}

TEST_F(CopyPins, OfAMoveThatEndsKeepThePlaceUntilTheyAreReleased) {
  evacuate(tensor_);
  EXPECT_OK(entry().begin_move(table_->place_away(entry_of(tensor_)).value(), m_));
  entry().wait_round();
  {
    const auto both = pins(0, 4000);
    ASSERT_TRUE(both.there.held());
    entry().abandon_move();
    table_->deferred().collect();
    EXPECT_EQ(peer_->stats().allocations, 1U);
    write(both, 0, 5);
  }
  table_->deferred().drain();
  EXPECT_EQ(peer_->stats().allocations, 0U);
  EXPECT_EQ(read(tensor_, a_), bytes_);
}

}  // namespace
}  // namespace aqua::tensor
