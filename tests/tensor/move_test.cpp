// SPDX-License-Identifier: Apache-2.0
// Moves that go well: what pins see, who waits for whom, and that every byte arrives.
#include "tests/tensor/world.hpp"

namespace aqua::tensor {
namespace {

using Round = TensorEntry::Round;

class Moves : public World {
 protected:
  Moves() { slab_ = add_slab(); }
  void SetUp() override {
    tensor_ = allocate(kBytes);
    post_write(tensor_, a_, bytes_);
  }
  void TearDown() override {
    tensor_ = AquaTensor();
    EXPECT_OK(gpu_->destroy_stream(m_));
  }
  // One move by hand, on a stream of the test's: each step is the test's.
  void begin(const std::shared_ptr<TensorPlace>& to = nullptr) {
    ASSERT_TRUE(succeeds(entry_of(tensor_)->begin_move(to, m_)));
    EXPECT_OK(finish(*gpu_, m_));
  }
  [[nodiscard]] Round step(bool pressing = false) {
    const Round round = entry_of(tensor_)->step_move(m_, pressing);
    EXPECT_OK(finish(*gpu_, m_));
    return round;
  }
  // Changes `bytes_` and the tensor alike.
  void overwrite(std::size_t offset, std::size_t bytes, std::uint32_t seed) {
    const Bytes news = some_bytes(bytes, seed);
    std::copy(news.begin(), news.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
    post_write(tensor_, b_, news, offset);
  }
  // A write pin asked for by another thread.
  [[nodiscard]] std::future<Result<Pin>> write_pin_elsewhere() {
    return std::async(std::launch::async, [this] { return tensor_.pin(Access::write, b_); });
  }

  static constexpr std::size_t kBytes = 1_MiB + 1000;  // not a whole number of chunks
  std::size_t slab_ = 0;
  Stream m_ = gpu_->create_stream().value();
  Bytes bytes_ = some_bytes(kBytes, 1);
  AquaTensor tensor_;
};

TEST_F(Moves, AnEvacuationKeepsEveryByteAndEmptiesTheSlab) {
  std::byte* const before = address(tensor_);
  evacuate(tensor_);
  EXPECT_EQ(tensor_.tier(), Tier::host);
  EXPECT_NE(address(tensor_), before);
  EXPECT_EQ(read(tensor_, b_), bytes_);
  table_->deferred().drain();
  EXPECT_TRUE(peer_->slab_empty(slab_, kSlab));
  EXPECT_EQ(host_->stats().allocated_bytes, peer_->stats().allocated_bytes + 1_MiB + 1024);
  EXPECT_EQ(migrator_->stats().evacuations, 1U);
  EXPECT_EQ(migrator_->stats().evacuated_bytes, kBytes);
}

TEST_F(Moves, APromotionKeepsEveryByteAndTheExit) {
  evacuate(tensor_);
  overwrite(5, 5000, 2);
  promote(tensor_);
  EXPECT_EQ(tensor_.tier(), Tier::peer);
  EXPECT_EQ(read(tensor_, a_), bytes_);
  EXPECT_EQ(host_->stats().allocations, 1U);
  overwrite(500'000, 5000, 3);
  evacuate(tensor_);
  EXPECT_EQ(read(tensor_, a_), bytes_);
  EXPECT_EQ(migrator_->stats().promotions, 1U);
}

TEST_F(Moves, ManyTensorsMoveAtOnce) {
  std::vector<AquaTensor> tensors;
  std::vector<Bytes> contents;
  for (std::uint32_t i = 0; i < 16; ++i) {
    tensors.push_back(allocate(50'000));
    contents.push_back(some_bytes(50'000, 100 + i));
    post_write(tensors.back(), i % 2 == 0 ? a_ : b_, contents.back());
  }
  for (AquaTensor& tensor : tensors) EXPECT_OK(migrator_->start(entry_of(tensor), nullptr));
  pump();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(tensors[i].tier(), Tier::host);
    EXPECT_EQ(read(tensors[i], a_), contents[i]) << i;
  }
}

TEST_F(Moves, OnlyATensorAtRestWithAnotherPlaceCanBeMoved) {
  EXPECT_OK(migrator_->start(entry_of(tensor_), nullptr));
  EXPECT_CODE(Code::failed_precondition, migrator_->start(entry_of(tensor_), nullptr));
  pump();
  EXPECT_CODE(Code::failed_precondition, migrator_->start(entry_of(tensor_), nullptr)) << "there";
  const auto entry = entry_of(tensor_);
  tensor_ = AquaTensor();
  EXPECT_CODE(Code::not_found, migrator_->start(entry, nullptr));
}

TEST_F(Moves, AWritePinHoldsTheTensorAndItsWritesArrive) {
  auto pin = tensor_.pin(Access::write, a_).value();
  EXPECT_OK(migrator_->start(entry_of(tensor_), nullptr));
  pump();
  EXPECT_FALSE(migrator_->idle()) << "it waits for the pin";
  EXPECT_FALSE(migrator_->copying());
  EXPECT_EQ(tensor_.tier(), Tier::peer);
  EXPECT_EQ(pin.data(), address(tensor_));
  bytes_ = some_bytes(kBytes, 7);
  post_write(pin, a_, bytes_);
  const int nudges = nudges_;
  pin.release();
  EXPECT_GT(nudges_, nudges) << "the control loop is told";
  pump();
  EXPECT_EQ(tensor_.tier(), Tier::host);
  EXPECT_EQ(read(tensor_, b_), bytes_);
}

TEST_F(Moves, AReadPinKeepsItsPlaceThroughAnEvacuationAndNewOnesSeeTheNew) {
  auto old = tensor_.pin(Access::read, a_).value();
  evacuate(tensor_);
  EXPECT_EQ(tensor_.tier(), Tier::host);
  EXPECT_EQ(old.tier(), Tier::peer);
  EXPECT_EQ(read(old, a_), bytes_);
  EXPECT_EQ(read(tensor_, b_), bytes_);
  table_->deferred().drain();
  EXPECT_FALSE(peer_->slab_empty(slab_, kSlab));
  EXPECT_EQ(entry_of(tensor_)->pins().readers, 1U) << "the owner can be named";
  old.release();
  table_->deferred().drain();
  EXPECT_TRUE(peer_->slab_empty(slab_, kSlab));
}

TEST_F(Moves, ASlabIsNotEmptyBeforeTheStreamsThatReadItAreQuiet) {
  Gate gate(*gpu_, a_);
  Bytes seen(kBytes);
  {
    const auto pin = tensor_.pin(Access::read, b_).value();
    EXPECT_OK(gpu_->wait_event(b_, *mark(a_)));  // behind the gate
    EXPECT_OK(gpu_->copy(device::one(seen.data(), pin.data(), kBytes), b_));
  }
  evacuate(tensor_);
  EXPECT_EQ(tensor_.tier(), Tier::host);
  EXPECT_EQ(table_->deferred().collect(), 1U);
  EXPECT_FALSE(peer_->slab_empty(slab_, kSlab));
  gate.open();
  table_->deferred().drain();
  EXPECT_TRUE(peer_->slab_empty(slab_, kSlab));
  EXPECT_EQ(seen, bytes_);
}

TEST_F(Moves, WritersWaitUntilReadersOfTheOldPlaceAreGone) {
  auto reader = tensor_.pin(Access::read, a_).value();
  evacuate(tensor_);
  std::atomic<bool> released{false};
  auto writer = std::async(std::launch::async, [&] {
    auto pin = tensor_.pin(Access::write, b_);
    EXPECT_TRUE(released.load());
    EXPECT_TRUE(pin.ok() && pin->tier() == Tier::host);
  });
  EXPECT_EQ(read(reader, a_), bytes_);
  EXPECT_CODE(Code::failed_precondition, entry_of(tensor_)->begin_move(nullptr, m_)) << "draining";
  released = true;
  reader.release();
  writer.get();
}

TEST_F(Moves, AWriterThatWaitsTooLongIsToldToTryAgain) {
  const auto reader = tensor_.pin(Access::read, a_).value();
  evacuate(tensor_);
  EXPECT_CODE(Code::unavailable, tensor_.pin(Access::write, b_));
  EXPECT_EQ(read(tensor_, b_), bytes_) << "readers do not wait";
}

TEST_F(Moves, DirtyChunksAreCopiedAgain) {
  begin();
  overwrite(0, 1, 2);
  overwrite(300'000, 300'000, 3);
  overwrite(kBytes - 1, 1, 4);
  EXPECT_EQ(step(), Round::again);
  EXPECT_EQ(step(), Round::moved);
  EXPECT_EQ(tensor_.tier(), Tier::host);
  EXPECT_EQ(read(tensor_, a_), bytes_);
}

TEST_F(Moves, AWritePinHeldSinceBeforeTheMoveCountsAsDirtyWhenReleased) {
  auto pin = tensor_.pin(Access::write, a_).value();
  begin();
  EXPECT_EQ(step(), Round::pinned);
  bytes_ = some_bytes(kBytes, 9);
  post_write(pin, a_, bytes_);
  pin.release();
  EXPECT_EQ(step(), Round::again);
  EXPECT_EQ(step(), Round::moved);
  EXPECT_EQ(read(tensor_, b_), bytes_);
}

TEST_F(Moves, ATensorWrittenInEveryRoundMakesItsWritersWaitInTheEnd) {
  begin();
  for (unsigned round = 0; round < TensorEntry::kFreeRounds; ++round) {
    overwrite(1000 * round, 1000, round);
    EXPECT_EQ(step(), Round::again);
  }
  auto writer = write_pin_elsewhere();
  EXPECT_EQ(read(tensor_, a_), bytes_) << "readers do not wait";
  EXPECT_EQ(step(), Round::moved);
  auto pin = writer.get();
  ASSERT_TRUE(succeeds(pin));
  EXPECT_EQ(pin->tier(), Tier::host);
  pin->release();
  EXPECT_EQ(read(tensor_, a_), bytes_);
}

TEST_F(Moves, NearTheDeadlineAHeldWritePinIsTheLast) {
  auto held = tensor_.pin(Access::write, a_).value();
  begin();
  EXPECT_EQ(step(true), Round::pinned);
  auto writer = write_pin_elsewhere();
  bytes_ = some_bytes(kBytes, 9);
  post_write(held, a_, bytes_);
  held.release();
  EXPECT_EQ(step(true), Round::again);
  EXPECT_EQ(step(true), Round::moved);
  auto pin = writer.get();
  ASSERT_TRUE(succeeds(pin));
  EXPECT_EQ(pin->tier(), Tier::host);
  EXPECT_EQ(read(*pin, b_), bytes_);
}

TEST_F(Moves, AnEvacuationEndsUnderAWriterThatNeverStops) {
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (std::uint32_t seed = 1000; !stop; ++seed) {
      bytes_ = some_bytes(kBytes, seed);
      post_write(tensor_, b_, bytes_);
      EXPECT_OK(finish(*gpu_, b_));
    }
  });
  EXPECT_OK(migrator_->start(entry_of(tensor_), nullptr));
  while (!migrator_->idle()) pump();
  EXPECT_EQ(tensor_.tier(), Tier::host);
  stop = true;
  writer.join();
  EXPECT_EQ(read(tensor_, a_), bytes_);
}

TEST_F(Moves, APromotionWaitsForReadersAndNoWriterWaitsForAPromotion) {
  evacuate(tensor_);
  table_->deferred().drain();
  begin(table_->place_away(entry_of(tensor_)).value());
  for (unsigned round = 0; round < TensorEntry::kFreeRounds; ++round) {
    overwrite(1000 * round, 1000, round);
    EXPECT_EQ(step(), Round::again);
  }
  auto reader = tensor_.pin(Access::read, a_).value();
  EXPECT_EQ(step(), Round::pinned);
  overwrite(0, 1000, 11);  // would wait for the reader, for ever
  EXPECT_EQ(read(tensor_, b_), bytes_);
  reader.release();
  EXPECT_EQ(step(), Round::again);
  EXPECT_EQ(step(), Round::moved);
  EXPECT_EQ(tensor_.tier(), Tier::peer);
  EXPECT_EQ(read(tensor_, a_), bytes_);
}

}  // namespace
}  // namespace aqua::tensor
