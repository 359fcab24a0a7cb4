// SPDX-License-Identifier: Apache-2.0
// Calibration on devices that every machine has: quick, bounded, and its curves tell the truth
// about the device that they were measured on.
#include "transfer/calibration/calibrate.hpp"

#include <gtest/gtest.h>

#include "tests/transfer/faulty_device.hpp"
#include "tests/transfer/mover_fixture.hpp"
#include "transfer/calibration/far_memory.hpp"

namespace aqua::test {
namespace {

using namespace transfer;
using namespace std::chrono_literals;

constexpr std::size_t kFarBytes = std::size_t{4} << 20;

CalibrationOptions quick() {
  CalibrationOptions options;
  options.per_link = 200ms;
  options.repetitions = 3;
  options.largest_piece = std::size_t{1} << 20;
  return options;
}

class Calibrate : public ::testing::Test {
 protected:
  std::unique_ptr<device::Device> dev = must(device::open_emulated({.total_bytes = 256 << 20}));
  DeviceMemory far{*dev, kFarBytes};
  const LinkMemory link{Link::local, far.base(), kFarBytes};
};

TEST_F(Calibrate, MeasuresEveryWayThatTheDeviceHasOfTheLinksGiven) {
  auto options = quick();
  options.per_link = 10s;  // far more than it takes, also under sanitizers
  const CurveSet set = must(calibrate(*dev, std::span(&link, 1), options));
  EXPECT_TRUE(set.measured(Link::local));
  EXPECT_FALSE(set.measured(Link::host));
  for (const Direction direction : kDirections) {
    for (const Way way : {Way::each, Way::staged}) {
      const Curve& curve = set.at(Link::local, direction, way);
      ASSERT_FALSE(curve.empty()) << to_string(way);
      EXPECT_EQ(curve.points().front().piece_bytes, 4096U);
      EXPECT_EQ(curve.points().back().piece_bytes, std::size_t{1} << 20);
      EXPECT_GT(curve.seconds(Pieces(64, 64 << 10)), 0);
    }
    EXPECT_TRUE(set.at(Link::local, direction, Way::batched).empty());
    EXPECT_TRUE(set.at(Link::local, direction, Way::kernel).empty());
  }
}

TEST_F(Calibrate, KeepsRoughlyToItsTime) {
  const auto start = std::chrono::steady_clock::now();
  (void)must(calibrate(*dev, std::span(&link, 1), quick()));
  // The three rows of each curve are measured whatever they take: on a busy machine, longer.
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
}

TEST_F(Calibrate, WithinADeviceMovesMoreThanItsCacheHolds) {
  FaultyDevice gpu(*dev);
  EXPECT_EQ(calibration_bytes(gpu, Link::local), kCalibrationBytes);
  gpu.pretend_cache(std::size_t{50} << 20);
  EXPECT_EQ(calibration_bytes(gpu, Link::local), std::size_t{200} << 20);
  EXPECT_EQ(calibration_bytes(gpu, Link::local, std::size_t{1} << 30), std::size_t{1} << 30);
  EXPECT_EQ(calibration_bytes(gpu, Link::peer), kCalibrationBytes);
  EXPECT_EQ(calibration_bytes(gpu, Link::host), kCalibrationBytes);
}

// The sizes of the slabs that are taken of it.
class SlabSizes final : public FaultyDevice {
 public:
  using FaultyDevice::FaultyDevice;
  Result<std::unique_ptr<Slab>> create_slab(std::size_t bytes, device::SlabUse use) override {
    sizes.push_back(bytes);
    return FaultyDevice::create_slab(bytes, use);
  }
  std::vector<std::size_t> sizes{};
};

TEST_F(Calibrate, TakesAsMuchOfADeviceAsItsCacheAsksFor) {
  auto options = quick();
  options.per_link = 0ms;
  SlabSizes gpu(*dev);
  gpu.pretend_cache(std::size_t{3} << 20);
  (void)must(calibrate_links(gpu, nullptr, options, options.largest_piece));
  ASSERT_FALSE(gpu.sizes.empty());
  EXPECT_EQ(gpu.sizes.front(), std::size_t{12} << 20) << "at the link's far end";
  for (const std::size_t bytes : gpu.sizes) EXPECT_GE(bytes, std::size_t{12} << 20);
}

// As on a machine that is busy with an engine's start: what is kept must have no holes.
TEST_F(Calibrate, WithoutTimeKnowsWhatEachCurveNeeds) {
  auto options = quick();
  options.per_link = 0ms;
  const CurveSet set = must(calibrate(*dev, std::span(&link, 1), options));
  EXPECT_TRUE(set.measured(Link::local));
  for (const Direction direction : kDirections) {
    EXPECT_FALSE(set.at(Link::local, direction, Way::each).empty());
    EXPECT_FALSE(set.at(Link::local, direction, Way::staged).empty());
  }
}

// It has kernels, and says of all but one launch in `every` that it was refused and went otherwise.
class WithoutLaunches final : public FaultyDevice {
 public:
  WithoutLaunches(device::Device& inner, unsigned every) : FaultyDevice(inner), every_(every) {}
  [[nodiscard]] bool supports(device::CopyMethod method, Stream) const noexcept override {
    return method != device::CopyMethod::batched;
  }
  Result<void> copy(device::CopyBatch batch, Stream stream,
                    const device::CopyOptions& options) override {
    if (options.method == device::CopyMethod::kernel && ++launches_ % every_ != 0) ++refused_;
    return FaultyDevice::copy(std::move(batch), stream, options);
  }
  Result<void> copy_blocks(device::BlockTable& table, const device::PieceRange& pieces,
                           Stream stream, const device::CopyOptions& options) override {
    return Device::copy_blocks(table, pieces, stream, options);
  }
  [[nodiscard]] device::CopyCounts copy_counts() const noexcept override {
    device::CopyCounts counts = FaultyDevice::copy_counts();
    counts.refused = refused_;
    return counts;
  }

 private:
  const unsigned every_;
  unsigned launches_ = 0, refused_ = 0;
};

TEST_F(Calibrate, LeavesOutAWayThatWasPassedOver) {
  WithoutLaunches without(*dev, ~0U);
  const CurveSet set = must(calibrate(without, std::span(&link, 1), quick()));
  for (const Direction direction : kDirections) {
    EXPECT_FALSE(set.at(Link::local, direction, Way::each).empty());
    EXPECT_TRUE(set.at(Link::local, direction, Way::kernel).empty());
    EXPECT_TRUE(set.at(Link::local, direction, Way::staged).empty()) << "kernels gather for it";
  }
}

TEST_F(Calibrate, CountsTheRepetitionsThatWentAsAsked) {
  WithoutLaunches sometimes(*dev, 2);
  const CurveSet set = must(calibrate(sometimes, std::span(&link, 1), quick()));
  for (const Direction direction : kDirections)
    EXPECT_FALSE(set.at(Link::local, direction, Way::kernel).empty());
}

TEST_F(Calibrate, StopsWhenTold) {
  auto options = quick();
  int asked = 0;
  options.stop = [&] { return ++asked > 20; };
  EXPECT_EQ(calibrate(*dev, std::span(&link, 1), options).error().code, Code::cancelled);
  EXPECT_EQ(asked, 21);
}

TEST_F(Calibrate, RefusesALinkWithoutMemory) {
  const LinkMemory none{Link::host, nullptr, 0};
  EXPECT_EQ(calibrate(*dev, std::span(&none, 1), quick()).error().code, Code::invalid_argument);
}

TEST_F(Calibrate, WithoutMemoryToSpareIsExhausted) {
  const auto small = must(device::open_emulated({.ordinal = 1, .total_bytes = 2 << 20}));
  EXPECT_EQ(calibrate(*small, std::span(&link, 1), quick()).error().code, Code::resource_exhausted);
}

TEST_F(Calibrate, LeavesNothingOnTheDevice) {
  const std::size_t before = dev->free_bytes();
  (void)must(calibrate(*dev, std::span(&link, 1), quick()));
  EXPECT_EQ(dev->free_bytes(), before);
}

}  // namespace
}  // namespace aqua::test
