// SPDX-License-Identifier: Apache-2.0
// What a LayerPool refuses: each with its code, naming what is wrong, and nothing changed.
#include <sys/wait.h>
#include <unistd.h>

#include "base/internals.hpp"
#include "device/memfd/device.hpp"
#include "runtime/impl.hpp"
#include "tests/systems/layer_swap/act/swap_engine.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;
using test::SwapEngine;
using Blocks = SwapEngine::Blocks;

const LayerPoolOptions kValidOptions{.layers = 6,
                                     .planes_per_layer = 2,
                                     .block_bytes = 512_KiB,
                                     .device_bytes = 48_MiB,
                                     .frames = 4};

class LayerPoolRefusals : public ::testing::Test {
 protected:
  void SetUp() override { open(64_MiB); }
  void TearDown() override { engine_.reset(); }
  void open(std::size_t host_bytes, const char* schedule = "fixed") {
    engine_.reset();
    runtime_.reset();
    auto opened = Runtime::open({.device = "emu:0",
                                 .coordinator = "none",
                                 .host_bytes = host_bytes,
                                 .emulated = {.total_bytes = 64_MiB}});
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    runtime_ = std::move(*opened);
    LayerPoolOptions options = kValidOptions;
    options.schedule = schedule;
    engine_ = std::make_unique<SwapEngine>(*runtime_, options);
    engine_->must_step({0, 1, 2, 3, 4, 5});
  }
  [[nodiscard]] LayerPool& pool() { return engine_->pool(); }
  template <typename T>
  static void expect(const Result<T>& result, Code code, const char* words) {
    ASSERT_FALSE(result.ok()) << words;
    EXPECT_EQ(result.error().code, code) << result.error().message;
    EXPECT_NE(result.error().message.find(words), std::string::npos) << result.error().message;
  }
  // The pool goes on as if nothing had been asked.
  void expect_whole() {
    engine_->must_step({5});
    engine_->must_step({});
    EXPECT_EQ(engine_->wrong(), 0U);
  }

  std::optional<Runtime> runtime_;
  std::unique_ptr<SwapEngine> engine_;
};

TEST_F(LayerPoolRefusals, OptionsThatCannotBe) {
  const auto create = [&](auto change) {
    LayerPoolOptions options = kValidOptions;
    change(options);
    return LayerPool::create(*runtime_, options);
  };
  const auto refused = [&](const char* words, auto change) {
    expect(create(change), Code::invalid_argument, words);
  };
  engine_.reset();
  refused("2 layers", [](auto& o) { o.layers = o.frames = 2; });
  refused("257 layers", [](auto& o) { o.layers = 257; });
  refused("0 planes", [](auto& o) { o.planes_per_layer = 0; });
  refused("blocks of 0", [](auto& o) { o.block_bytes = 0; });
  refused("slabs of 0", [](auto& o) { o.slab_bytes = 0; });
  refused("multiples of 2097152", [](auto& o) { o.slab_bytes = 1_MiB; });
  refused("2 frames", [](auto& o) { o.frames = 2; });
  refused("7 frames", [](auto& o) { o.frames = 7; });
  refused("do not make 3 frames", [](auto& o) { o.device_bytes = 10_MiB; });
  refused("hold no block", [](auto& o) { o.device_bytes = 14_MiB; });
  refused("no goal \"speed\"", [](auto& o) { o.frames = 6, o.goal = "speed"; });
  refused("goal capacity with fifo",
          [](auto& o) { o.frames = 6, o.goal = "capacity", o.schedule = "fifo"; });
  refused("4 frames at first", [](auto& o) { o.frames = 4, o.goal = "capacity"; });
  // Said before memory is asked for, of which there is none left.
  refused("no goal \"speed\"", [](auto& o) { o.goal = "speed", o.device_bytes = 1_GiB; });
  refused("no schedule \"lifo\"", [](auto& o) { o.schedule = "lifo"; });
  expect(create([](auto& o) { o.device_bytes = 1_GiB; }), Code::resource_exhausted, "of 67108864");
  EXPECT_TRUE(create([](auto&) {}).ok()) << "what was refused has taken nothing";
}

TEST_F(LayerPoolRefusals, NoRoomForTheExitsOfWhatIsToBeAway) {
  engine_.reset();
  runtime_.reset();
  open(52_MiB);  // what is away with four frames takes 48 MiB at most, and with three 64 at least
  const std::uint32_t blocks = pool().usable_blocks();
  const std::size_t away = pool().status().away_bytes;
  expect(pool().resize(3), Code::resource_exhausted, "exit");
  EXPECT_EQ(pool().usable_blocks(), blocks);
  EXPECT_EQ(pool().status().away_bytes, away);
  EXPECT_EQ(pool().status().frames, 4U);
  expect_whole();
}

TEST_F(LayerPoolRefusals, LayersOutOfOrder) {
  const Stream stream = engine_->stream();
  expect(pool().begin_layer(0), Code::failed_precondition, "no step");
  expect(pool().end_layer(0), Code::failed_precondition, "not begun");
  expect(pool().end_step(), Code::failed_precondition, "no step");
  ASSERT_TRUE(pool().begin_step(stream, {}, {}).ok());
  expect(pool().begin_layer(1), Code::invalid_argument, "layer 1, where layer 0 is next");
  ASSERT_TRUE(pool().begin_layer(0).ok());
  expect(pool().begin_layer(1), Code::failed_precondition, "layer 0 has not ended");
  expect(pool().end_layer(1), Code::invalid_argument, "layer 1, where layer 0 was begun");
  expect(pool().end_step(), Code::failed_precondition, "layer 0 of 6");
  expect(pool().resize(3), Code::failed_precondition, "step 2 has not ended");
  ASSERT_TRUE(pool().end_layer(0).ok());
  expect(pool().end_layer(0), Code::failed_precondition, "not begun");
  expect(pool().end_step(), Code::failed_precondition, "layer 1 of 6");
  for (std::uint32_t layer = 1; layer < 6; ++layer) {
    ASSERT_TRUE(pool().begin_layer(layer).ok());
    ASSERT_TRUE(pool().end_layer(layer).ok());
  }
  expect(pool().begin_layer(6), Code::invalid_argument, "every layer has ended");
  ASSERT_TRUE(pool().end_step().ok());
  expect_whole();
}

TEST_F(LayerPoolRefusals, StepsThatOverlap) {
  ASSERT_TRUE(pool().begin_step(engine_->stream(), {}, {}).ok());
  expect(pool().begin_step(engine_->stream(), {}, {}), Code::failed_precondition, "step 2");
  ASSERT_TRUE(pool().discard().ok());
  engine_->forget_all();
  expect_whole();
}

TEST_F(LayerPoolRefusals, CallsOnAStreamUnderCapture) {
  device::Device& device = detail::Internals::impl(*runtime_).device();
  const Stream stream = engine_->stream();
  const auto captured = [&](auto call) {
    device::pretend_capture(device, stream);
    expect(call(), Code::failed_precondition, "captured");
    device::pretend_capture(device, {});
  };
  const Blocks one{0};
  AquaTensor tensor = *runtime_->allocate({.bytes = pool().packed_bytes(1)});
  captured([&] { return pool().begin_step(stream, one, one); });
  captured([&] { return pool().offload(one, tensor, stream); });
  captured([&] { return pool().fetch(tensor, one, stream); });
  EXPECT_EQ(pool().status().steps, 1U);

  ASSERT_TRUE(pool().begin_step(stream, {}, {}).ok());
  // How often the call was refused, which goes well once nothing is captured.
  const auto refusals = [&](const auto& call) {
    device::pretend_capture(device, stream);
    const bool done = call().ok();
    device::pretend_capture(device, {});
    EXPECT_TRUE(done || call().ok()) << "nothing has changed";
    return done ? 0U : 1U;
  };
  unsigned begins = 0, ends = 0;
  for (std::uint32_t layer = 0; layer < 6; ++layer) {
    begins += refusals([&] { return pool().begin_layer(layer); });
    ends += refusals([&] { return pool().end_layer(layer); });
  }
  EXPECT_EQ(begins, pool().status().streamed_layers);
  EXPECT_GE(ends, pool().status().streamed_layers);
  ASSERT_TRUE(pool().end_step().ok());
  expect_whole();
}

// Its frames have the only bytes of what a step has written, until the layers go out: offload()
// saves them first.
TEST_F(LayerPoolRefusals, TransfersOfFifoOnAStreamUnderCapture) {
  open(128_MiB, "fifo");
  const Stream stream = engine_->stream();
  const Blocks one{0};
  AquaTensor tensor = *runtime_->allocate({.bytes = pool().packed_bytes(1)});
  device::Device& device = detail::Internals::impl(*runtime_).device();
  device::pretend_capture(device, stream);
  const std::uint64_t copies = runtime_->status().copies.each;
  expect(pool().fetch(tensor, one, stream), Code::failed_precondition, "captured");
  expect(pool().offload(one, tensor, stream), Code::failed_precondition, "captured");
  EXPECT_EQ(runtime_->status().copies.each, copies) << "nothing is posted";
  device::pretend_capture(device, {});
  expect_whole();
}

TEST_F(LayerPoolRefusals, BlocksThatAreNotUsableOrListedTwice) {
  const std::uint32_t end = pool().usable_blocks();
  const auto begin = [&](const Blocks& reads, const Blocks& writes) {
    return pool().begin_step(engine_->stream(), reads, writes);
  };
  expect(begin({end}, {}), Code::invalid_argument, "of reads, where");
  expect(begin({}, {0, end}), Code::invalid_argument, "of writes, where");
  expect(begin({1, 2, 1}, {}), Code::invalid_argument, "block 1 of reads is listed twice");
  expect(begin({}, {3, 3}), Code::invalid_argument, "block 3 of writes is listed twice");
  expect_whole();
}

TEST_F(LayerPoolRefusals, FramesThatCannotBeAndStepsThatWereNot) {
  expect(pool().resize(2), Code::invalid_argument, "2 frames of 6");
  expect(pool().resize(7), Code::invalid_argument, "7 frames of 6");
  EXPECT_EQ(pool().usable_blocks(2) + pool().usable_blocks(7), 0U);
  expect(pool().step_done(0), Code::invalid_argument, "step 0");
  expect(pool().step_done(2), Code::invalid_argument, "step 2, where 1");
  EXPECT_THROW((void)pool().planes(6), std::out_of_range);
  expect_whole();
}

TEST_F(LayerPoolRefusals, AStreamThatIsNone) {
  expect(pool().begin_step(Stream{12345}, {}, {}), Code::invalid_argument, "stream");
  expect_whole();
}

TEST_F(LayerPoolRefusals, AForksCalls) {
  engine_->settle();
  AquaTensor tensor = runtime_->allocate({.bytes = pool().packed_bytes(1)}).value();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto refused = [](const auto& result) {
      return !result.ok() && result.error().code == Code::failed_precondition;
    };
    const bool all = refused(pool().begin_step(engine_->stream(), {}, {})) &&
                     refused(pool().resize(3)) && refused(pool().discard()) &&
                     refused(pool().offload(Blocks{0}, tensor, engine_->stream()));
    ::_exit(all ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  expect_whole();
}

}  // namespace
}  // namespace aqua
