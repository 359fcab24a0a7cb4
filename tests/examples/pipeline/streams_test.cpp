// SPDX-License-Identifier: Apache-2.0
// A process of prefill and one of decode, between which a real keeper dies.
#include "stream/streams.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <future>
#include <utility>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/handoff/pools.hpp"
#include "aqua/runtime.hpp"
#include "must.hpp"
#include "stream/sent_prompt.hpp"
#include "tests/base/eventually.hpp"
#include "tests/keeper/keeper_process.hpp"

namespace aqua::pipeline {
namespace {

constexpr std::uint32_t kStreamedTokens = 20;

// Options of decode's only process, or of one of `prefill` processes that compute prompts.
Options options_of_one(const std::filesystem::path& keeper, unsigned prefill, const Place& place) {
  Options options;
  options.directory = keeper.parent_path();
  options.prefill = PipelineShape{1, prefill};
  options.decode = PipelineShape{1, 1};
  options.batch = 1;
  options.place = place;
  return options;
}

// A process, and what it does with one prompt at a time.
class OneProcess {
 public:
  OneProcess(Runtime& runtime, const Options& options)
      : runtime_(runtime),
        options_(options),
        part_(part_of(options.model_shape(), options.place.shape, 0, options.place.rank)),
        cache_(runtime, options.model_shape(), part_, options.cache_options()),
        streams_(runtime, options_, cache_),
        stream_(example::must(emulated::create_stream(runtime), "stream")) {}
  ~OneProcess() { (void)emulated::destroy_stream(runtime_, stream_); }
  OneProcess(const OneProcess&) = delete;
  OneProcess& operator=(const OneProcess&) = delete;

  // Prefill. `between` is called once the first layer was given.
  void send(Word sequence, std::uint32_t attempt, const std::function<void()>& between = {}) {
    const auto blocks = reserve(sequence);
    each_byte(sequence, blocks, [](std::byte& at, std::byte wanted) { at = wanted; });
    SentPrompt prompt(streams_, head_of(sequence, attempt), blocks);
    for (unsigned layer = 0; layer < options_.model.layers; ++layer) {
      prompt.layer(layer, stream_);
      if (layer == 0 && between) between();
    }
    prompt.complete(stream_);
    cache_.release(sequence);
  }

  // Decode: takes it, and counts the bytes that are wrong.
  [[nodiscard]] std::size_t take(Word sequence, std::uint32_t attempt) {
    const auto blocks = reserve(sequence);
    TakenPrompt taken = streams_.take(head_of(sequence, attempt), blocks, stream_);
    example::must(taken.in.wait(), "stream_in");
    std::size_t wrong = 0;
    each_byte(sequence, blocks,
              [&wrong](std::byte& at, std::byte wanted) { wrong += at != wanted ? 1U : 0U; });
    return wrong;
  }
  void hear() { streams_.hear(); }
  void finish(Word sequence, std::uint32_t attempt) {
    streams_.finish(head_of(sequence, attempt), stream_);
    cache_.release(sequence);
  }

 private:
  static StepHead head_of(Word sequence, std::uint32_t attempt) {
    return {.sequence = sequence, .count = kStreamedTokens, .attempt = attempt};
  }
  std::vector<std::uint32_t> reserve(Word sequence) {
    cache_.reserve(sequence, kStreamedTokens);
    return cache_.blocks_of(sequence);
  }
  // Calls `each` in kernels with every byte of the prompt's KV, and what it is to be.
  template <typename Each>
  void each_byte(Word sequence, const std::vector<std::uint32_t>& blocks, Each each) {
    const ModelShape model = options_.model_shape();
    const Range heads = part_.kv_heads;
    for (unsigned layer = 0; layer < model.layers; ++layer) {
      auto kernel = [=, planes = cache_.planes(layer, blocks)] {
        const std::array<std::byte*, 2> of{emulated::kernel_view(planes.keys),
                                           emulated::kernel_view(planes.values)};
        for (std::uint32_t token = 0; token < kStreamedTokens; ++token) {
          for (unsigned i = 0; i < of.size() * heads.count * model.head_bytes; ++i) {
            const unsigned byte = i % model.head_bytes, head = i / model.head_bytes / 2;
            const unsigned plane = i / model.head_bytes % 2;
            const auto wanted =
                static_cast<std::byte>(sequence * 101 + layer * 67 + token * 31 +
                                       (heads.first + head) * 17 + plane * 7 + byte);
            each(of.at(plane)[planes.offset(token, head) + byte], wanted);
          }
        }
      };
      example::must(emulated::launch(runtime_, stream_, std::move(kernel)), "launch");
    }
    example::must(emulated::synchronize(runtime_, stream_), "kernels");
  }

  Runtime& runtime_;
  const Options options_;
  const Part part_;
  KvCache cache_;
  Streams streams_;
  Stream stream_;
};

// Pipelines of one process each.
class StreamsOverKeepers : public ::testing::Test {
 protected:
  [[nodiscard]] Options options_of(const char* pipeline) const {
    return options_of_one(keeper_.socket(), 1, {.pipeline = pipeline, .shape = {1, 1}});
  }
  void next_keeper() {
    keeper_.kill();
    keeper_.start();
  }
  // In a thread, as another process would.
  [[nodiscard]] std::future<std::size_t> taking(Word sequence, std::uint32_t attempt) {
    return std::async(std::launch::async,
                      [this, sequence, attempt] { return decode_.take(sequence, attempt); });
  }

  test::KeeperProcess keeper_;
  Runtime runtime_ = Runtime::open({.device = "emu:0",
                                    .coordinator = "none",
                                    .host_bytes = std::size_t{2} << 20,
                                    .curve_directory = "off"})
                         .value();
  OneProcess prefill_{runtime_, options_of(kPrefill)};
  OneProcess decode_{runtime_, options_of(kDecode)};
};

TEST_F(StreamsOverKeepers, WhatDiedWithTheKeeperComesAsAnotherAttempt) {
  prefill_.send(7, 1);
  next_keeper();
  auto wrong = taking(7, 1);
  prefill_.send(7, 2);
  EXPECT_EQ(wrong.get(), 0U);
}

TEST_F(StreamsOverKeepers, APromptInHandIsStreamedAgainToTheNextKeeper) {
  std::future<std::size_t> wrong;
  prefill_.send(7, 1, [&] {
    next_keeper();
    wrong = taking(7, 1);
  });
  EXPECT_EQ(wrong.get(), 0U);
}

TEST_F(StreamsOverKeepers, WhoWaitsForAKeeperGoesOnOnceThereIsOne) {
  keeper_.kill();
  auto wrong = taking(7, 1);
  auto sent = std::async(std::launch::async, [this] { prefill_.send(7, 1); });
  keeper_.start();
  sent.get();
  EXPECT_EQ(wrong.get(), 0U);
}

TEST_F(StreamsOverKeepers, WhatWasTakenIsHereAndOthersHaveRoom) {
  prefill_.send(7, 1);
  EXPECT_EQ(taking(7, 1).get(), 0U);
  next_keeper();
  decode_.finish(7, 1);
  for (Word sequence = 8; sequence < 14; ++sequence) {
    auto wrong = taking(sequence, 1);
    prefill_.send(sequence, 1);
    EXPECT_EQ(wrong.get(), 0U) << sequence;
    decode_.finish(sequence, 1);
  }
}

// The attempt that is whole is given up for one that is not yet.
TEST(StreamsOfTwoRanks, APromptIsTakenOnceItsLatestAttemptIsWhole) {
  test::KeeperProcess keeper;
  Runtime runtime = Runtime::open({.device = "emu:0",
                                   .coordinator = "none",
                                   .host_bytes = std::size_t{2} << 20,
                                   .curve_directory = "off"})
                        .value();
  const Place rank{.pipeline = kPrefill, .shape = {1, 2}};
  Place other = rank;
  other.rank = 1;
  OneProcess first(runtime, options_of_one(keeper.socket(), 2, rank));
  OneProcess second(runtime, options_of_one(keeper.socket(), 2, other));
  OneProcess decode(runtime,
                    options_of_one(keeper.socket(), 2, {.pipeline = kDecode, .shape = {1, 1}}));
  first.send(7, 1);
  second.send(7, 1);
  ASSERT_EQ(decode.take(7, 1), 0U);
  first.send(7, 2);
  const auto nothing_waits = [&] {
    decode.hear();
    return list_pools(keeper.socket()).value().at(0).waiting == 0;
  };
  ASSERT_TRUE(test::eventually(nothing_waits));
  auto wrong = std::async(std::launch::async, [&] { return decode.take(7, 1); });
  second.send(7, 2);
  EXPECT_EQ(wrong.get(), 0U);
}

}  // namespace
}  // namespace aqua::pipeline
