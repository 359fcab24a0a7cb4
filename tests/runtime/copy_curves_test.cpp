// SPDX-License-Identifier: Apache-2.0
// From the cache's file, or measured in the background and kept: the Mover goes by curves of
// this machine, and bad files do no harm.
#include "runtime/copy_curves.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "device/memfd/device.hpp"
#include "tests/runtime/signal.hpp"
#include "transfer/calibration/curve_store.hpp"

namespace aqua::runtime {
namespace {

class CopyCurvesTest : public ::testing::Test {
 protected:
  CopyCurvesTest() {
    char name[] = "/tmp/aqua-curves-XXXXXX";
    root = ::mkdtemp(name);
  }
  ~CopyCurvesTest() override { std::filesystem::remove_all(root); }
  [[nodiscard]] std::unique_ptr<CopyCurves> open() {
    return std::make_unique<CopyCurves>(*dev, mover, root + "/cache",
                                        [this](LogLevel level, const std::string& text) {
                                          if (level != LogLevel::info) ++warnings;
                                          if (text == "copy curves: measured") told_measured.set();
                                        });
  }
  // Whether the Mover goes by curves of this machine.
  [[nodiscard]] bool measured() {
    std::byte plane{};
    LayoutSpec spec{.layers = 1,
                    .planes_per_layer = 1,
                    .planes = {&plane},
                    .block_count = 1,
                    .block_stride = 1,
                    .axes = BlockAxes::whole(1)};
    const Layout layout = Layout::make(spec).value();
    transfer::TransferRequest request;
    request.layout = &layout;
    return mover.choose_for(request).value().measured;
  }
  [[nodiscard]] std::string path() const {
    return transfer::curve_path(root + "/cache", transfer::key_of(dev->info()));
  }

  std::string root;
  std::unique_ptr<device::Device> dev =
      device::open_emulated({.total_bytes = std::size_t{512} << 20}).value();
  transfer::Mover mover{*dev};
  std::atomic<int> warnings{0};
  Signal told_measured;
};

TEST_F(CopyCurvesTest, MeasuresOnceAndKeeps) {
  const std::size_t free_bytes = dev->free_bytes();
  auto first = open();
  EXPECT_FALSE(measured());
  first->measure();
  ASSERT_TRUE(told_measured.wait());
  EXPECT_TRUE(measured());
  first.reset();
  EXPECT_TRUE(std::filesystem::exists(path()));
  EXPECT_EQ(dev->free_bytes(), free_bytes);

  mover.use(std::make_shared<transfer::CurveSet>());
  EXPECT_FALSE(measured());
  const auto second = open();
  EXPECT_TRUE(measured()) << "by the file, at once";
  second->measure();  // nothing to do
  EXPECT_EQ(warnings, 0);
}

TEST_F(CopyCurvesTest, ABadFileIsWarnedOfAndIgnored) {
  std::filesystem::create_directory(root + "/cache");
  std::ofstream(path()) << "aqua-curves 1\nlibrary";
  const auto curves = open();
  EXPECT_FALSE(measured());
  EXPECT_EQ(warnings, 1);
}

TEST_F(CopyCurvesTest, StoppedEarlyItLeavesNothingBehind) {
  const std::size_t free_bytes = dev->free_bytes();
  auto curves = open();
  curves->measure();
  curves->stop();
  EXPECT_EQ(warnings, 0);
  EXPECT_EQ(dev->free_bytes(), free_bytes);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(CopyCurvesTest, WithoutMemoryTheBuiltInOnesServe) {
  const auto small = device::open_emulated({.ordinal = 1, .total_bytes = 2 << 20}).value();
  transfer::Mover small_mover(*small);
  Signal warned;  // twice would throw
  CopyCurves curves(*small, small_mover, "", [&](LogLevel level, const std::string&) {
    if (level == LogLevel::warning) warned.set();
  });
  curves.measure();
  EXPECT_TRUE(warned.wait());
}

}  // namespace
}  // namespace aqua::runtime
