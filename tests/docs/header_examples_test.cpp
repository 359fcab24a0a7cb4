// SPDX-License-Identifier: Apache-2.0
// The examples at the top of the public headers do what they say, on an emulated GPU without a
// coordinator. Each test sets up the names that its example uses; the example includes nothing.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "aqua/elastic_pool.hpp"
#include "aqua/emulated.hpp"
#include "aqua/handoff/kv_pool.hpp"
#include "aqua/handoff/segment_carrier.hpp"
#include "aqua/handoff/segments.hpp"
#include "aqua/kv_stream/microbatch_swap.hpp"
#include "aqua/kv_stream/replica_reader.hpp"
#include "aqua/kv_stream/replicator.hpp"
#include "aqua/layer_swap/layer_pool.hpp"
#include "aqua/prefix/prefix_cache.hpp"
#include "aqua/runtime.hpp"
#include "aqua/sharing/shared_weights.hpp"
#include "aqua/sharing/weights_publisher.hpp"
#include "tests/coordinator/child_process.hpp"
#include "tests/systems/kv_stream/stream/pair.hpp"

namespace {

using namespace aqua;
using namespace aqua::literals;

// An engine's cache: 64 blocks of 16 tokens, one plane of latents.
Layout layout_at(std::byte* base) {
  std::byte* planes[] = {base};
  return Layout::mla({.layers = 1, .block_count = 64, .tokens_per_block = 16, .element_bytes = 2},
                     64, planes)
      .value();
}
constexpr std::size_t kCacheBytes = std::size_t{64} * 16 * 64 * 2;

class HeaderExamples : public ::testing::Test {
 protected:
  HeaderExamples() {
    char pattern[] = "/tmp/aqua-examples-XXXXXX";
    directory_ = ::mkdtemp(pattern);
    ::setenv("XDG_RUNTIME_DIR", directory_.c_str(), 1);
    ::unsetenv("AQUA_COORDINATOR");
  }
  ~HeaderExamples() override { std::filesystem::remove_all(directory_); }

  static Runtime open() { return Runtime::open({.device = "emu:0"}).value(); }

 private:
  std::string directory_;
};

TEST_F(HeaderExamples, Runtime) {
  std::vector<std::byte> cache(kCacheBytes);
  const Layout layout = layout_at(cache.data());
  const std::uint32_t blocks[] = {4, 17, 5};
  const Stream stream{};
  const auto fail = [](const Error& error) { ADD_FAILURE() << error.message; };
  std::memset(cache.data() + 17 * layout.block_bytes(), 42, layout.block_bytes());
#include "header_examples/runtime.hpp"
  ASSERT_TRUE(out.ok() && out->wait().ok());
  ASSERT_TRUE(back.ok() && back->wait().ok());
  EXPECT_EQ(back->bytes(), layout.packed_bytes(3));
}

TEST_F(HeaderExamples, Tensor) {
  Runtime runtime = open();
  const Stream stream{};
  bool filled = false;
  const auto launch_fill = [&](std::byte* to, Stream on) {
    ASSERT_TRUE(emulated::launch(runtime, on, [&filled, to] {
                  std::memset(emulated::kernel_view(to), 1, 64_MiB);
                  filled = true;
                }).ok());
  };
#include "header_examples/tensor.hpp"
  EXPECT_FALSE(pin->held());
  ASSERT_TRUE(emulated::synchronize(runtime, stream).ok());
  EXPECT_TRUE(filled);
}

TEST_F(HeaderExamples, ElasticPool) {
  Runtime runtime = open();
  const Stream stream{};
  constexpr std::size_t layers = 2, quanta = 3;
  std::array<std::byte*, layers> keys{}, values{};
#include "header_examples/elastic_pool.hpp"
  ASSERT_TRUE(lent.ok()) << lent.error().message;
  EXPECT_EQ(pool->usable_bytes_per_plane(), 64_MiB - quanta * 2_MiB);
  EXPECT_EQ(keys[1], pool->plane(2));
  EXPECT_EQ(values[1], pool->plane(3));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (pool->lent_quanta() != quanta && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();  // there is no event for it
  auto home = runtime.reclaim(quanta * pool->quantum_bytes(), std::chrono::seconds(20));
  ASSERT_TRUE(home.ok() && home->wait().ok());
}

TEST_F(HeaderExamples, BlockPool) {
  using namespace layer_swap;
  BlockPool pool = BlockPool::create(2, 6).value();
  const std::uint32_t more = 8, fewer = 3;
  std::vector<std::uint32_t> memory(2, 6);
  const auto add_memory = [&](std::uint32_t layer) { memory[layer] = more; };
  const auto cut_memory = [&](std::uint32_t layer) { memory[layer] = fewer; };
  std::vector<SequenceId> copied_out;
  const auto copy_out = [&](SequenceId sequence) { copied_out.push_back(sequence); };
  std::vector<std::pair<BlockId, BlockId>> copied;
  const auto copy_in_every_layer = [&](BlockId from, BlockId to) { copied.emplace_back(from, to); };
  for (const SequenceId sequence : {5U, 6U, 7U}) ASSERT_TRUE(pool.allocate(sequence, 2).ok());
  ASSERT_TRUE(pool.release(5).ok());
#include "header_examples/layer_swap/block_pool.hpp"
  EXPECT_EQ(copied_out, std::vector<SequenceId>{7}) << "the last that came";
  EXPECT_EQ(copied, (std::vector<std::pair<BlockId, BlockId>>{{3, 0}})) << "of the other one";
  EXPECT_EQ(pool.usable_blocks(), fewer);
  EXPECT_EQ(memory, std::vector<std::uint32_t>(2, fewer));
}

TEST_F(HeaderExamples, LayerPool) {
  Runtime runtime = open();
  const Stream stream{};
  const std::vector<std::uint32_t> reads{}, writes{0, 5};
  std::uint32_t launched = 0;
  const auto launch_layer = [&](std::uint32_t layer, std::span<std::byte* const> planes,
                                Stream on) {
    EXPECT_EQ(layer, launched++);
    ASSERT_TRUE(emulated::launch(runtime, on, [plane = planes[1]] {
                  std::memset(emulated::kernel_view(plane) + 5 * 64_KiB, 1, 64_KiB);
                }).ok());
  };
  const auto synchronize = [&](Stream on) { ASSERT_TRUE(emulated::synchronize(runtime, on).ok()); };
#include "header_examples/layer_swap/layer_pool.hpp"
  ASSERT_TRUE(begun.ok() && step.ok() && sound.ok());
  EXPECT_EQ(launched, 12U);
  EXPECT_EQ(pool->usable_blocks(), 96U) << "64 with nothing away";
  ASSERT_TRUE(emulated::synchronize(runtime, stream).ok());
  ASSERT_TRUE(pool->resize(12).ok());  // waits until what was written is safe
  EXPECT_EQ(pool->usable_blocks(), 64U);
  EXPECT_TRUE(*pool->step_done(*step));
}

TEST_F(HeaderExamples, Streamer) {
  using namespace std::chrono_literals;
  test::Pair pair(test::pipeline({2}, 1, 4), test::pipeline({2}, 1, 8));
  pair.admit(1);
  test::Rank &sender = *pair.senders[0], &receiver = *pair.receivers[0];
  kv_stream::Streamer &prefill = sender.streamer, &decode = receiver.streamer;
  const Stream stream = sender.stream(), own_stream = receiver.stream();
  const auto blocks = sender.blocks_for(20), own_blocks = receiver.blocks_for(20);
  const auto launch_layer = [&](unsigned layer, Stream) { sender.write(layer, 20, 5); };
  unsigned launched = 0;
  const auto launch_attention = [&](unsigned layer, Stream) { EXPECT_EQ(layer, launched++); };
#include "header_examples/kv_stream/streamer.hpp"
  EXPECT_TRUE(finished.ok());
  EXPECT_EQ(launched, 2U);
  EXPECT_EQ(receiver.wrong(20, 5), 0U);
}

TEST_F(HeaderExamples, MicrobatchSwap) {
  Runtime runtime = open();
  const Stream stream{};
  const auto memory = emulated::allocate(runtime, 8 * 64_KiB);
  ASSERT_TRUE(memory.ok());
  const auto buffer_at = [&](std::size_t at) {
    return *Layout::make({.layers = 1,
                          .planes_per_layer = 1,
                          .planes = {memory->data() + at},
                          .block_count = 4,
                          .block_stride = 64_KiB,
                          .axes = BlockAxes::whole(64_KiB)});
  };
  const Layout a = buffer_at(0), b = buffer_at(4 * 64_KiB);
  const std::vector<std::uint32_t> writes{0, 3};
  std::uint32_t launched = 0;
  const auto launch_step = [&](std::uint32_t m, const Layout& buffer) {
    EXPECT_EQ(m, launched++);
    ASSERT_TRUE(emulated::launch(runtime, stream, [plane = buffer.spec().planes[0]] {
                  std::memset(emulated::kernel_view(plane), 1, 64_KiB);
                }).ok());
  };
#include "header_examples/kv_stream/microbatch_swap.hpp"
  EXPECT_EQ(launched, 4U);
  ASSERT_TRUE(swap.ok());
  EXPECT_EQ(swap->status().turns, 4U);
  EXPECT_EQ(swap->status().written_bytes, 4 * 2 * 64_KiB);
  ASSERT_TRUE(emulated::synchronize(runtime, stream).ok());
}

// Another engine finds what the first one has published.
TEST_F(HeaderExamples, WeightsPublisherAndSharedWeights) {
  aqua::testing::ChildProcess keeper({AQUA_KEEPER_PROGRAM});
  ASSERT_TRUE(keeper.read_line().starts_with("listening on "));
  ::setenv("AQUA_DEVICE", "emu:0", 1);
  const std::vector<std::byte> qkv(std::size_t{3} * 576 * 576 * 2, std::byte{7});
  {
    auto rt = Runtime::open({});
#include "header_examples/sharing/weights_publisher.hpp"
    ASSERT_TRUE(placed.ok() && written.ok() && published.ok());
    EXPECT_EQ(weights->find("qkv")->bytes, qkv.size());
  }
  const auto fail = [](const Error& error) { ADD_FAILURE() << error.message; };
  {
#include "header_examples/sharing/shared_weights.hpp"
    EXPECT_EQ(q.error().code, Code::not_found) << "this model has one tensor, of another name";
    EXPECT_EQ(std::memcmp(weights->find("qkv")->address, qkv.data(), qkv.size()), 0);
  }
  ::unsetenv("AQUA_DEVICE");
}

TEST_F(HeaderExamples, KvPool) {
  aqua::testing::ChildProcess keeper({AQUA_KEEPER_PROGRAM});
  ASSERT_TRUE(keeper.read_line().starts_with("listening on "));
  Runtime runtime = open();
  Runtime* const rt = &runtime;
  const Stream stream{};
  const auto launch_prefill = [](const Layout& layout, const std::vector<std::uint32_t>& list,
                                 Stream) {
    std::memset(layout.spec().planes[59] + list[7] * layout.spec().block_stride, 42, 6144);
  };
  const auto launch_decode = [](const Layout& layout, const std::vector<Parcel>& taken, Stream) {
    ASSERT_EQ(taken.size(), 1U);
    EXPECT_EQ(taken[0].note, "pending token");
    const std::byte* const block =
        layout.spec().planes[59] + taken[0].blocks[7] * layout.spec().block_stride;
    EXPECT_EQ(block[6143], std::byte{42});
  };
#include "header_examples/handoff/kv_pool.hpp"
  EXPECT_TRUE(handed.ok() && finished.ok());
}

TEST_F(HeaderExamples, SegmentCarrier) {
  aqua::testing::ChildProcess keeper({AQUA_KEEPER_PROGRAM});
  ASSERT_TRUE(keeper.read_line().starts_with("listening on "));
  Runtime runtime = open();
  Runtime* const rt = &runtime;
  const auto memory = emulated::allocate(runtime, kCacheBytes).value();
  const Layout layout = layout_at(memory.data());
  const std::vector<std::uint32_t> blocks{3, 1}, own_blocks{8, 9};
  const Stream stream{}, own_stream{};
  std::byte* const first = memory.data() + 3 * layout.block_bytes();
  std::memset(first, 42, layout.block_bytes());
#include "header_examples/handoff/segment_carrier.hpp"
  ASSERT_TRUE(admitted.ok() && copies.ok() && closed.ok() && landed.ok());
  ASSERT_TRUE(landed->wait().ok());
  EXPECT_EQ(std::memcmp(memory.data() + 8 * layout.block_bytes(), first, layout.block_bytes()), 0);
}

TEST_F(HeaderExamples, Segments) {
  aqua::testing::ChildProcess keeper({AQUA_KEEPER_PROGRAM});
  ASSERT_TRUE(keeper.read_line().starts_with("listening on "));
  Runtime runtime = open();
  Runtime* const rt = &runtime;
  const auto memory = emulated::allocate(runtime, kCacheBytes).value();
  const Layout layout = layout_at(memory.data());
  const std::vector<std::uint32_t> blocks{3, 1}, other_blocks{8, 9};
  const Stream stream{};
  std::byte* const first = memory.data() + 3 * layout.block_bytes();
  std::memset(first, 42, layout.block_bytes());
#include "header_examples/handoff/segments.hpp"
  ASSERT_TRUE(gathered.ok() && posted.ok() && asked.ok() && scattered.ok() && closed.ok());
  ASSERT_TRUE(scattered->wait().ok());
  EXPECT_EQ(std::memcmp(memory.data() + 8 * layout.block_bytes(), first, layout.block_bytes()), 0);
}

TEST_F(HeaderExamples, Replicas) {
  aqua::testing::ChildProcess keeper({AQUA_KEEPER_PROGRAM});
  ASSERT_TRUE(keeper.read_line().starts_with("listening on "));
  Runtime runtime = open();
  Runtime* const rt = &runtime;
  const auto memory = emulated::allocate(runtime, kCacheBytes).value();
  const Layout layout = layout_at(memory.data());
  const std::vector<std::uint32_t> prompt(20, 5), known_ids(prompt);
  const Stream stream{};
  {
    const std::vector<std::uint32_t> blocks{3, 1};
    std::memset(memory.data() + 3 * layout.block_bytes(), 42, layout.block_bytes());
#include "header_examples/kv_stream/replicator.hpp"
    ASSERT_TRUE(copied.ok());
    EXPECT_TRUE(replicator->is_protected(7));
    ASSERT_TRUE(replicator->step(written, stream).ok());
    ASSERT_TRUE(replicator->flush(stream).ok());
  }
  const std::vector<std::uint32_t> blocks{8, 9};
  const std::uint32_t room = 32;
#include "header_examples/kv_stream/replica_reader.hpp"
  EXPECT_EQ(mark, 20U);
  ASSERT_TRUE(restored.ok() && done.ok() && restored->ticket.wait().ok());
  EXPECT_EQ(std::memcmp(memory.data() + 8 * layout.block_bytes(),
                        memory.data() + 3 * layout.block_bytes(), layout.block_bytes()),
            0);
}

TEST_F(HeaderExamples, PrefixCache) {
  Runtime runtime = open();
  const auto memory = emulated::allocate(runtime, kCacheBytes).value();
  const Layout layout = layout_at(memory.data());
  const std::vector<prefix::Token> tokens(512, 7);
  const auto chain = prefix::hash_chain("tenant", tokens, 256);
  const prefix::Prefix prefix{chain, tokens.size()};
  std::vector<std::uint32_t> blocks(32);
  for (std::uint32_t i = 0; i < blocks.size(); ++i) blocks[i] = i;
  const Stream stream{};
  std::size_t computed_after = 1;
  const auto compute_after = [&](std::size_t done, Stream) { computed_after = done; };
#include "header_examples/prefix/prefix_cache.hpp"
  EXPECT_EQ(computed_after, 0U) << "nothing was cached";
  EXPECT_TRUE(whole.ok());
  ASSERT_TRUE(stored.ok() && stored->wait().ok());
  EXPECT_EQ(cache->match(prefix).tokens, 512U) << "the next prompt finds it";
}

}  // namespace
