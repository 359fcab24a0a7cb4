// SPDX-License-Identifier: Apache-2.0
// The kernels' own loops, run on the CPU over every thread of a launch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "tests/kernels/cpu_machine.hpp"
#include "tests/kernels/random_blocks.hpp"
#include "tests/kernels/segment_lists.hpp"

namespace aqua::kernels {
namespace {

// 256-byte aligned, as device memory is.
class Area {
 public:
  explicit Area(const std::vector<std::byte>& content)
      : room_(content.size() + 256), bytes_(content.size()) {
    std::memcpy(data(), content.data(), bytes_);
  }
  [[nodiscard]] std::byte* data() {
    const auto at = reinterpret_cast<std::uintptr_t>(room_.data());
    return room_.data() + (256 - at % 256) % 256;
  }
  [[nodiscard]] std::vector<std::byte> content() { return {data(), data() + bytes_}; }

 private:
  std::vector<std::byte> room_;
  std::uint64_t bytes_;
};

using Run = std::function<void(const CopyLaunch&, Target&)>;

void expect_copies(const SegmentPlan& plan, const Run& run) {
  SCOPED_TRACE(plan.name);
  const auto source = random_bytes(plan.src_bytes, 11);
  const auto before = random_bytes(plan.dst_bytes, 12);
  Area src(source);
  Area dst(before);
  auto list = lay(plan, dst.data(), src.data());
  const CopyLaunch launch = describe(list);
  Target target(dst.data(), plan.dst_bytes);
  run(launch, target);
  std::vector<std::uint8_t> once(plan.dst_bytes);
  for (const Placed& p : plan.placed) {
    for (std::uint64_t i = 0; i < p.bytes; ++i) once[p.dst + i] = 1;
  }
  EXPECT_TRUE(target.writes() == once) << "a byte was not written exactly once";
  EXPECT_TRUE(dst.content() == expected(plan, before, source));
}

Run vector_on(unsigned sms, unsigned max_sms) {
  return [=](const CopyLaunch& launch, Target& target) {
    if (launch.total_bytes == 0) return;
    const Shape shape = vector_shape(launch.total_bytes, sms, max_sms);
    run_vector(plan_of(launch, shape), shape, target);
  };
}

Run bulk_on(unsigned sms, unsigned max_sms, unsigned warps, Eagerness eager) {
  return [=](const CopyLaunch& launch, Target& target) {
    if (launch.total_bytes == 0) return;
    const Shape shape = bulk_shape(launch.total_bytes, sms, max_sms, warps);
    run_bulk(plan_of(launch, shape), shape, target, eager);
  };
}

TEST(VectorCopy, WritesEveryByteOnceWhateverTheList) {
  for (const SegmentPlan& plan : typical_lists()) expect_copies(plan, vector_on(132, 0));
}

TEST(VectorCopy, WritesEveryByteOnceOnAnyNumberOfSms) {
  for (const unsigned sms : {1U, 2U, 7U, 131U, 1000U}) {
    expect_copies(mixed(300, 1, 64 << 10, true, 21), vector_on(132, sms));
    expect_copies(alike(100, 16 << 10), vector_on(132, sms));
  }
}

TEST(VectorCopy, FindsItsWayAmongAHundredThousandSegments) {
  expect_copies(mixed(100'000, 1, 600, true, 22), vector_on(132, 0));
  expect_copies(alike(100'000, 256), vector_on(132, 4));
}

TEST(VectorCopy, OneHugeSegmentAmongSmallOnesIsSplit) {
  SegmentPlan plan = mixed(1000, 16, 512, false, 23);
  plan.placed[500] = {plan.dst_bytes, plan.src_bytes, 24 << 20};
  plan.dst_bytes += 24 << 20;
  plan.src_bytes += 24 << 20;
  expect_copies(plan, vector_on(132, 0));
}

TEST(BulkCopy, WritesEveryByteOnceHoweverLateTheHardwareIs) {
  for (const Eagerness eager : {Eagerness{true, true}, Eagerness{true, false},
                                Eagerness{false, true}, Eagerness{false, false}}) {
    for (const SegmentPlan& plan : typical_lists()) expect_copies(plan, bulk_on(132, 4, 4, eager));
  }
}

TEST(BulkCopy, WritesEveryByteOnceOnAnyNumberOfSmsAndRings) {
  for (const unsigned sms : {0U, 1U, 3U, 1000U}) {
    for (const unsigned warps : {1U, 2U, 4U}) {
      expect_copies(mixed(300, 1, 256 << 10, true, 24), bulk_on(132, sms, warps, {true, false}));
    }
  }
}

// 300 lists and launches, none of which anyone chose.
TEST(Copies, RandomListsOnRandomShapes) {
  std::mt19937 random(31);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  const auto either = [&] { return below(2) == 0; };
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const std::uint64_t largest = std::uint64_t{16} << below(14);
    const SegmentPlan plan = mixed(1 + below(200), 1, largest, either(), seed);
    const unsigned sms = 1 + below(200);
    const unsigned max_sms = either() ? 0 : 1 + below(20);
    expect_copies(plan, vector_on(sms, max_sms));
    expect_copies(plan, bulk_on(sms, max_sms, 1 + below(4), {either(), either()}));
  }
}

TEST(BlockCopies, MoveTheNamedPiecesOnceWhateverTheShape) {
  std::mt19937 random(41);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  const auto source = random_bytes(RandomBlocks::kArea, 11);
  const auto before = random_bytes(RandomBlocks::kArea, 12);
  for (int round = 0; round < 60; ++round) {
    Area src(source);
    Area dst(before);
    const RandomBlocks some(dst.data(), src.data(), round % 4 == 0 ? RandomBlocks::kLargest : 700,
                            random);
    const BlockLaunch& launch = some.launch();
    const std::uint64_t piece = launch.blocks.piece_bytes;
    std::vector<std::byte> expected = before;
    std::vector<std::uint8_t> once(before.size());
    some.each_piece([&](std::size_t to, std::size_t from) {
      std::memcpy(&expected[to], &source[from], piece);
      std::fill_n(once.begin() + static_cast<std::ptrdiff_t>(to), piece, 1);
    });
    Target target(dst.data(), before.size());
    const std::uint64_t bytes = launch.count * piece;
    const unsigned sms = below(2) == 0 ? 0 : 1 + below(8);
    if (below(2) == 0) {
      const Shape shape = vector_shape(bytes, 132, sms);
      run_vector(plan_of(launch, shape), shape, target);
    } else {
      const Shape shape = bulk_shape(bytes, 132, sms, 2);
      run_bulk(plan_of(launch, shape), shape, target, {below(2) == 0, below(2) == 0});
    }
    ASSERT_TRUE(target.writes() == once) << "round " << round;
    ASSERT_TRUE(dst.content() == expected) << "round " << round;
  }
}

}  // namespace
}  // namespace aqua::kernels
