// SPDX-License-Identifier: Apache-2.0
// Device memory that is mapped at will, a stream beside the engine's, and the time between marks.
#include "aqua/plane_memory.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <future>
#include <optional>

#include "aqua/emulated.hpp"
#include "aqua/runtime.hpp"
#include "aqua/side_stream.hpp"
#include "aqua/stream_mark.hpp"
#include "tests/base/code_of.hpp"
#include "tests/base/open_emulated.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;

class RuntimeMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    runtime_ = test::open_emulated(16_MiB, 2_MiB, true);
    stream_ = emulated::create_stream(*runtime_).value();
  }
  void TearDown() override { EXPECT_TRUE(emulated::destroy_stream(*runtime_, stream_).ok()); }
  void run(const std::function<void()>& kernel) {
    ASSERT_TRUE(emulated::launch(*runtime_, stream_, kernel).ok());
    ASSERT_TRUE(emulated::synchronize(*runtime_, stream_).ok());
  }
  void write(std::byte* at, int value) {
    run([=] { std::memset(emulated::kernel_view(at), value, 2_MiB); });
  }
  [[nodiscard]] bool holds(std::byte* at, int value) {
    bool all = true;
    run([&] {
      const std::byte* const view = emulated::kernel_view(at);
      for (std::size_t i = 0; i < 2_MiB; ++i) all &= view[i] == static_cast<std::byte>(value);
    });
    return all;
  }
  [[nodiscard]] PlaneMemory make() {
    return PlaneMemory::create(*runtime_, {.planes = 2, .plane_bytes = 4_MiB, .slabs = 3}).value();
  }

  std::optional<Runtime> runtime_;
  Stream stream_;
};

using PlaneMemories = RuntimeMemory;
using SideStreams = RuntimeMemory;
using StreamMarks = RuntimeMemory;

TEST_F(PlaneMemories, ASlabInTwoPlanesIsTheSameBytesInBoth) {
  PlaneMemory memory = make();
  ASSERT_TRUE(memory.map({{0, 1}, {2, 1}}).ok());
  write(memory.plane(0), 1);
  write(memory.plane(0) + 2_MiB, 2);
  write(memory.plane(1), 3);
  EXPECT_TRUE(holds(memory.plane(1) + 2_MiB, 2));
  EXPECT_TRUE(holds(memory.plane(0), 1));
}

TEST_F(PlaneMemories, MappedElsewhereASlabKeepsItsBytesAndAPlaneItsAddress) {
  PlaneMemory memory = make();
  std::byte* const first = memory.plane(0);
  std::byte* const second = memory.plane(1);
  ASSERT_TRUE(memory.map({{0, 1}, {}}).ok());
  write(first, 1);
  write(first + 2_MiB, 2);
  ASSERT_TRUE(memory.map({{2}, {1, 0}}).ok());
  EXPECT_EQ(memory.plane(0), first);
  EXPECT_EQ(memory.plane(1), second);
  EXPECT_TRUE(holds(second, 2));
  EXPECT_TRUE(holds(second + 2_MiB, 1));
}

TEST_F(PlaneMemories, PlacesThatCannotBeChangeNothing) {
  PlaneMemory memory = make();
  ASSERT_TRUE(memory.map({{0, 1}, {}}).ok());
  write(memory.plane(0), 1);
  EXPECT_EQ(code_of(memory.map({{1, 0}})), "invalid_argument");
  EXPECT_EQ(code_of(memory.map({{1, 0}, {3}})), "invalid_argument");
  EXPECT_EQ(code_of(memory.map({{1, 0}, {0, 1, 2}})), "invalid_argument");
  EXPECT_TRUE(holds(memory.plane(0), 1));
  EXPECT_THROW((void)memory.plane(2), std::out_of_range);
}

TEST_F(PlaneMemories, SlabsInNoPlaneAreLentAndComeBack) {
  PlaneMemory memory = make();
  ASSERT_TRUE(memory.map({{0}, {}}).ok());
  write(memory.plane(0), 1);
  EXPECT_EQ(code_of(memory.lend({0})), "invalid_argument");
  EXPECT_EQ(code_of(memory.lend({1, 1})), "invalid_argument");
  EXPECT_EQ(code_of(memory.lend({3})), "invalid_argument");
  EXPECT_EQ(memory.lent(), std::vector<bool>(3));
  ASSERT_TRUE(memory.lend({1, 2}).ok());
  EXPECT_EQ(memory.lent(), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(runtime_->status().lent_bytes, 4_MiB);
  EXPECT_EQ(code_of(memory.map({{0}, {1}})), "invalid_argument");
  auto reclaim = runtime_->reclaim(4_MiB, std::chrono::seconds(20));
  ASSERT_TRUE(reclaim.ok() && reclaim->wait().ok());
  EXPECT_EQ(memory.lent(), std::vector<bool>(3));
  ASSERT_TRUE(memory.map({{0, 1}, {2}}).ok());
  EXPECT_TRUE(holds(memory.plane(0), 1));
}

TEST_F(PlaneMemories, OneThatEndsKeepsOnlyWhatIsLent) {
  const auto create = [&](std::size_t slabs) {
    return PlaneMemory::create(*runtime_, {.planes = 1, .plane_bytes = 16_MiB, .slabs = slabs});
  };
  {
    PlaneMemory memory = create(8).value();
    ASSERT_TRUE(memory.map({{0, 3}}).ok());
    ASSERT_TRUE(memory.lend({1, 2}).ok());
  }
  EXPECT_EQ(runtime_->status().lent_bytes, 4_MiB);
  EXPECT_TRUE(create(6).ok());
  EXPECT_EQ(code_of(create(7)), "resource_exhausted");
  auto reclaim = runtime_->reclaim(4_MiB, std::chrono::seconds(20));
  ASSERT_TRUE(reclaim.ok() && reclaim->wait().ok());
  EXPECT_TRUE(create(8).ok());
}

TEST_F(PlaneMemories, OptionsThatCannotBeTakeNoMemory) {
  const auto create = [&](PlaneMemoryOptions options) {
    return PlaneMemory::create(*runtime_, options);
  };
  EXPECT_EQ(code_of(create({.planes = 0, .plane_bytes = 2_MiB, .slabs = 1})), "invalid_argument");
  EXPECT_EQ(code_of(create({.planes = 1, .plane_bytes = 3_MiB, .slabs = 1})), "invalid_argument");
  EXPECT_EQ(code_of(create({.planes = 1, .plane_bytes = 2_MiB, .slabs = 0})), "invalid_argument");
  EXPECT_EQ(code_of(create({.planes = 1, .plane_bytes = 2_MiB, .slabs = 1, .slab_bytes = 1_MiB})),
            "invalid_argument");
  EXPECT_EQ(code_of(create({.planes = 1, .plane_bytes = 2_MiB, .slabs = 9})), "resource_exhausted");
  EXPECT_TRUE(create({.planes = 1, .plane_bytes = 16_MiB, .slabs = 8}).ok());
}

TEST_F(SideStreams, RunBehindAndBeforeAnEnginesStream) {
  SideStream side = SideStream::create(*runtime_).value();
  std::promise<void> gate;
  std::atomic<int> order{0};
  int on_side = -1, on_engine = -1;
  const auto launch = [&](Stream stream, std::function<void()> kernel) {
    ASSERT_TRUE(emulated::launch(*runtime_, stream, std::move(kernel)).ok());
  };
  launch(stream_, [open = gate.get_future().share()] { open.wait(); });
  ASSERT_TRUE(side.run_after(stream_).ok());
  launch(side.stream(), [&] { on_side = order++; });
  ASSERT_TRUE(side.run_before(stream_).ok());
  launch(stream_, [&] { on_engine = order++; });
  EXPECT_EQ(order, 0);
  gate.set_value();
  ASSERT_TRUE(side.wait().ok());
  EXPECT_EQ(on_side, 0);
  ASSERT_TRUE(emulated::synchronize(*runtime_, stream_).ok());
  EXPECT_EQ(on_engine, 1);
  EXPECT_EQ(code_of(side.run_after(Stream{12345})), "invalid_argument");
  EXPECT_EQ(code_of(side.run_before(Stream{12345})), "invalid_argument");
}

TEST_F(StreamMarks, TellTheTimeOfTheWorkBetweenThem) {
  StreamMark first = StreamMark::create(*runtime_).value();
  StreamMark second = StreamMark::create(*runtime_).value();
  EXPECT_EQ(code_of(second.since(first)), "failed_precondition");
  std::promise<void> gate;
  first = StreamMark::create(*runtime_, stream_).value();
  ASSERT_TRUE(emulated::launch(*runtime_, stream_, [open = gate.get_future().share()] {
                open.wait();
              }).ok());
  ASSERT_TRUE(second.set(stream_).ok());
  EXPECT_EQ(code_of(second.since(first)), "unavailable");
  gate.set_value();
  ASSERT_TRUE(emulated::synchronize(*runtime_, stream_).ok());
  const auto between = second.since(first);
  ASSERT_TRUE(between.ok()) << between.error().message;
  EXPECT_GT(between->count(), 0);
  EXPECT_LT(first.since(second)->count(), 0);
  EXPECT_EQ(code_of(first.set(Stream{12345})), "invalid_argument");
  EXPECT_EQ(*second.since(first), *between) << "what was refused has changed nothing";
  EXPECT_EQ(code_of(StreamMark::create(*runtime_, Stream{12345})), "invalid_argument");
  EXPECT_EQ(code_of(StreamMark::check(*runtime_, Stream{12345})), "invalid_argument");
  EXPECT_EQ(code_of(StreamMark::check(*runtime_, stream_)), "ok");
}

}  // namespace
}  // namespace aqua
