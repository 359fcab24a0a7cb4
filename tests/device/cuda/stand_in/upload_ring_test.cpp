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
  std::vector<std::byte> host = pattern(4'096, 4);
  for (unsigned seed = 1; seed <= 10; ++seed) {
    driver_->seed(seed);
    const Stream engine = device_->create_stream().value();
    auto second = open_kind("cuda", 16_MiB);
    EXPECT_OK(second->register_host(host.data(), host.size()));
    std::fill(host.begin() + 2'048, host.end(), std::byte{});
    EXPECT_OK(second->copy(one(host.data() + 2'048, host.data(), 2'048), engine,
                           {.method = CopyMethod::kernel}));
    second.reset();
    EXPECT_TRUE(std::equal(host.begin(), host.begin() + 2'048, host.begin() + 2'048));
    EXPECT_OK(device_->unregister_host(host.data(), host.size()));
    EXPECT_OK(device_->destroy_stream(engine));
  }
}

// No kernel will read the numbers of such a table: its copies go by lists of pieces.
TEST_F(UploadRingOnStandIn, ATableThatDoesNotGoUpIsCounted) {
  constexpr std::uint32_t kBlocks = 20'000;
  const Place place = make_place(*device_, 4_MiB);
  std::vector<std::byte> pageable(kBlocks * 64);
  const auto table_of = [&](std::byte* plane) {
    BlockCopy copy{.dst = {.planes = {plane}, .ids = {}, .block_stride = 64},
                   .blocks = kBlocks,
                   .piece_bytes = 64};
    for (std::uint32_t block = 0; block < kBlocks; ++block) copy.dst.ids.push_back(block);
    return device_->prepare_blocks(std::make_shared<const BlockCopy>(std::move(copy))).value();
  };
  const auto out_of_reach = table_of(pageable.data());
  EXPECT_EQ(device_->copy_counts().unreachable, 1U);
  std::vector<std::unique_ptr<BlockTable>> tables;
  while (device_->copy_counts().full == 0) {
    tables.push_back(table_of(place.base()));
    ASSERT_LT(tables.size(), 1'000U) << "the ring never fills";
  }
  EXPECT_GT(tables.size(), 50U);
  EXPECT_EQ(device_->copy_counts().unreachable, 1U);
  tables.clear();
  EXPECT_OK(device_->synchronize(Stream{}));
}

}  // namespace
}  // namespace aqua::device
