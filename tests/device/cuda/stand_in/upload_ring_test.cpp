// SPDX-License-Identifier: Apache-2.0
// The lists of kernels: each stays as it was written until its kernel has read it.
#include <cuda.h>

#include <algorithm>
#include <array>
#include <vector>

#include "tests/device/cuda/stand_in/on_stand_in.hpp"

namespace aqua::device {
namespace {

class UploadRingOnStandIn : public OnStandIn {
 protected:
  static constexpr std::size_t kPieces = 2'000;
  static constexpr std::size_t kRound = kPieces * 32;  // bytes, every second 16 of which move

  static CopyBatch pieces(std::byte* dst, const std::byte* src) {
    auto batch = std::make_shared<std::vector<CopySegment>>();
    for (std::size_t i = 0; i < kPieces; ++i) batch->push_back({dst + 32 * i, src + 32 * i, 16});
    return batch;
  }
};

TEST_F(UploadRingOnStandIn, AListIsNotOverwrittenBeforeItsKernelHasRun) {
  constexpr std::size_t kRounds = 100;  // of which the ring holds 65
  const Place from = make_place(*device_, 2_MiB);
  const Place to = make_place(*device_, 8_MiB);
  const auto source = pattern(kRound, 1);
  for (unsigned seed = 1; seed <= 4; ++seed) {
    driver_->seed(seed);
    upload(*device_, from.base(), source);
    const Stream stream = device_->create_stream().value();
    EXPECT_OK(device_->scrub(to.base(), 8_MiB, stream));
    const std::uint64_t gate = driver_->gate(reinterpret_cast<void*>(stream.native));
    for (std::size_t round = 0; round < kRounds; ++round) {
      EXPECT_OK(device_->copy(pieces(to.base() + round * kRound, from.base()), stream,
                              {.method = CopyMethod::kernel}));
    }
    driver_->open(gate);
    EXPECT_OK(device_->destroy_stream(stream));
    const auto moved = download(*device_, to.base(), kRounds * kRound);
    for (std::size_t round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < kPieces; ++i) {
        const auto at = static_cast<std::ptrdiff_t>(32 * i);
        ASSERT_TRUE(std::equal(source.begin() + at, source.begin() + at + 16,
                               moved.begin() + static_cast<std::ptrdiff_t>(round * kRound) + at))
            << "round " << round << ", piece " << i;
      }
    }
  }
}

// Without a gate: places come free while others are still queued, on two streams.
TEST_F(UploadRingOnStandIn, PlacesThatComeFreeAreTakenByOthers) {
  const Place from = make_place(*device_, 2_MiB);
  const Place to = make_place(*device_, 8_MiB);
  for (unsigned seed = 1; seed <= 10; ++seed) {
    driver_->seed(seed);
    const auto source = pattern(kRound, seed);
    upload(*device_, from.base(), source);
    EXPECT_OK(device_->scrub(to.base(), 8_MiB, {}));
    EXPECT_OK(finish(*device_, {}));
    const std::array<Stream, 2> streams{device_->create_stream().value(),
                                        device_->create_stream().value()};
    for (std::size_t round = 0; round < 120; ++round) {
      EXPECT_OK(device_->copy(pieces(to.base() + round * kRound, from.base()), streams[round % 2],
                              {.method = CopyMethod::kernel}));
    }
    for (const Stream stream : streams) EXPECT_OK(device_->destroy_stream(stream));
    const auto moved = download(*device_, to.base(), 120 * kRound);
    for (std::size_t at = 0; at < moved.size(); at += 32) {
      const auto here = static_cast<std::ptrdiff_t>(at);
      const auto there = static_cast<std::ptrdiff_t>(at % kRound);
      ASSERT_TRUE(
          std::equal(source.begin() + there, source.begin() + there + 16, moved.begin() + here))
          << "seed " << seed << ", byte " << at;
    }
  }
}

// On a stream that is not the device's own.
TEST_F(UploadRingOnStandIn, ADeviceThatGoesWaitsForTheKernelsThatReadItsLists) {
  std::vector<std::byte> memory = pattern(4'096, 4);
  for (unsigned seed = 1; seed <= 10; ++seed) {
    driver_->seed(seed);
    const Stream engine = device_->create_stream().value();
    auto second = open_kind("cuda", 16_MiB);
    EXPECT_OK(second->register_host(memory.data(), memory.size()));
    std::fill(memory.begin() + 2'048, memory.end(), std::byte{});
    EXPECT_OK(second->copy(one(memory.data() + 2'048, memory.data(), 2'048), engine,
                           {.method = CopyMethod::kernel}));
    second.reset();
    EXPECT_TRUE(std::equal(memory.begin(), memory.begin() + 2'048, memory.begin() + 2'048));
    EXPECT_OK(device_->unregister_host(memory.data(), memory.size()));
    EXPECT_OK(device_->destroy_stream(engine));
  }
}

}  // namespace
}  // namespace aqua::device
