// SPDX-License-Identifier: Apache-2.0
// The kernels' own loops, run on the CPU over every thread of a launch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "tests/kernels/cpu_machine.hpp"
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

// Blocks with two axes inside, on one side in another order than on the other, or a line there.
struct Paged {
  std::vector<std::byte*> planes;
  std::vector<std::uint32_t> ids;
  BlockSide side;

  // Disjoint pieces of `bytes`, `gap` apart, from `base` on. The bytes that they reach.
  std::uint64_t lay(std::byte* base, const Blocks& b, std::uint32_t planes_count, std::uint64_t gap,
                    bool transposed, std::mt19937& random) {
    const std::uint64_t step = b.piece_bytes + gap;
    side.inner_stride = transposed ? step * b.outer : step;
    side.outer_stride = transposed ? step : step * b.inner;
    side.block_stride = step * b.outer * b.inner + gap;
    ids.resize(2 * b.blocks);  // of which the first half is taken
    std::iota(ids.begin(), ids.end(), 0U);
    std::shuffle(ids.begin(), ids.end(), random);
    const std::uint64_t pitch = side.block_stride * ids.size() + gap;
    for (std::uint32_t p = 0; p < planes_count; ++p) planes.push_back(base + p * pitch);
    std::shuffle(planes.begin(), planes.end(), random);
    side.planes = planes.data();
    side.ids = ids.data();
    return pitch * planes_count;
  }
  [[nodiscard]] std::byte* at(std::size_t p, std::size_t i, std::size_t o, std::size_t in) const {
    return planes[p] + ids[i] * side.block_stride + o * side.outer_stride + in * side.inner_stride;
  }
};

TEST(BlockCopies, MoveTheNamedPiecesOnceWhateverTheShape) {
  std::mt19937 random(41);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  const auto source = random_bytes(1 << 20, 11);
  const auto before = random_bytes(1 << 20, 12);
  for (int round = 0; round < 60; ++round) {
    Blocks blocks;
    blocks.blocks = 1 + below(4);
    blocks.outer = 1 + below(3);
    blocks.inner = 1 + below(3);
    blocks.piece_bytes = 1 + below(round % 4 == 0 ? 4'500 : 700);
    if (below(2) == 0) blocks.piece_bytes = (blocks.piece_bytes + 15) / 16 * 16;
    const std::uint32_t planes = 1 + below(3);
    const std::uint64_t all = std::uint64_t{planes} * blocks.blocks * blocks.outer * blocks.inner;
    const std::uint64_t first = below(static_cast<unsigned>(all));
    const std::uint64_t count = 1 + below(static_cast<unsigned>(all - first));
    Area src(source);
    Area dst(before);
    Paged from, to;
    const bool line = below(2) == 0;
    ASSERT_LE(from.lay(src.data(), blocks, planes, below(3), false, random), source.size());
    ASSERT_LE(to.lay(dst.data(), blocks, planes, below(3), below(2) == 0, random), before.size());
    blocks.src = from.side;
    if (!line) blocks.dst = to.side;
    const BlockLaunch launch{
        .blocks = blocks, .first = first, .count = count, .line = dst.data() + 3};

    std::vector<std::byte> expected = before;
    std::vector<std::uint8_t> once(before.size());
    std::uint64_t piece = 0;
    for (std::size_t p = 0; p < planes; ++p) {
      for (std::size_t i = 0; i < blocks.blocks; ++i) {
        for (std::size_t o = 0; o < blocks.outer; ++o) {
          for (std::size_t in = 0; in < blocks.inner; ++in, ++piece) {
            if (piece < first || piece >= first + count) continue;
            const std::byte* to_at =
                line ? launch.line + (piece - first) * blocks.piece_bytes : to.at(p, i, o, in);
            const auto at = static_cast<std::size_t>(to_at - dst.data());
            std::memcpy(&expected[at], from.at(p, i, o, in), blocks.piece_bytes);
            std::fill_n(once.begin() + static_cast<std::ptrdiff_t>(at), blocks.piece_bytes, 1);
          }
        }
      }
    }
    Target target(dst.data(), before.size());
    const std::uint64_t bytes = count * blocks.piece_bytes;
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
