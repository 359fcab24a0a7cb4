// SPDX-License-Identifier: Apache-2.0
// Ranks of two pipelines through the C ABI, with a keeper of their own: `prefill` is one rank with
// blocks of 4 tokens, `decode` two with blocks of 8 in another order. Each byte of KV is a function
// of where it is in the model.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/capi/capi_fixture.hpp"
#include "tests/keeper/keeper_process.hpp"

namespace aqua::test {

class CapiStreamer : public CapiFixture {
 protected:
  using Blocks = std::vector<std::uint32_t>;

  static constexpr std::uint32_t kLayers = 2, kPlanes = 2, kHeads = 4, kBlocks = 8;
  static constexpr std::size_t kHeadBytes = 16;
  static constexpr std::uint32_t kTokens = 20;
  static constexpr std::uint32_t kLongMs = 60'000;
  static constexpr aqua_stream kNoStream = ~aqua_stream{0};

  // A cache with its layout: heads from the first one on.
  struct Cache {
    aqua_emulated_memory memory{};
    std::uint8_t* base = nullptr;
    aqua_layout layout{};
    std::uint32_t tokens_per_block = 0, first_head = 0, heads = 0;
    bool heads_first = false;

    [[nodiscard]] std::size_t block_bytes() const { return tokens_per_block * heads * kHeadBytes; }
    [[nodiscard]] std::uint8_t* plane(unsigned number) const {
      return base + number * kBlocks * block_bytes();
    }
    // Where a head of a token lies, `head` counted here.
    [[nodiscard]] std::uint8_t* at(unsigned plane_number, const Blocks& blocks, std::uint32_t token,
                                   std::uint32_t head) const {
      const std::size_t in_block = token % tokens_per_block;
      const std::size_t row =
          heads_first ? head * tokens_per_block + in_block : in_block * heads + head;
      return plane(plane_number) + blocks[token / tokens_per_block] * block_bytes() +
             row * kHeadBytes;
    }
  };

  CapiStreamer() {
    prefill_shape_.layers = kLayers;
    prefill_shape_.kv_heads = kHeads;
    prefill_shape_.head_bytes = kHeadBytes;
    prefill_shape_.tokens_per_block = 4;
    prefill_shape_.format = "stamps";
    decode_shape_ = prefill_shape_;
    decode_shape_.tokens_per_block = 8;
    two_ranks_.tensor_ranks = 2;
    prefill_group_.name = "prefill";
    prefill_group_.shape = &prefill_shape_;
    decode_group_.name = "decode";
    decode_group_.shape = &decode_shape_;
    decode_group_.parallelism = &two_ranks_;
    prefill_ = make_cache(4, 0, kHeads, false);
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      decode_.at(rank) = make_cache(8, rank * kHeads / 2, kHeads / 2, true);
    }
  }
  ~CapiStreamer() override {
    free_cache(prefill_);
    for (const Cache& cache : decode_) free_cache(cache);
  }

  [[nodiscard]] aqua_streamer_options prefill_options() const {
    return options_of(prefill_group_, &decode_groups_);
  }
  [[nodiscard]] aqua_streamer_options decode_options(std::uint32_t rank) const {
    aqua_streamer_options options = options_of(decode_group_, &prefill_groups_);
    options.rank = rank;
    options.ready = 0;  // it only takes
    return options;
  }
  [[nodiscard]] aqua_streamer open_streamer(const Cache& cache,
                                            const aqua_streamer_options& options) const {
    aqua_streamer streamer{};
    EXPECT_EQ(code_of(aqua_streamer_open(runtime_, cache.layout, &options, &streamer)), AQUA_OK);
    return streamer;
  }
  [[nodiscard]] aqua_streamer open_prefill() const {
    return open_streamer(prefill_, prefill_options());
  }
  [[nodiscard]] aqua_streamer open_decode(std::uint32_t rank) const {
    return open_streamer(decode_.at(rank), decode_options(rank));
  }
  // Both ranks, each with room for one sequence.
  [[nodiscard]] std::array<aqua_streamer, 2> open_decode_ranks() const {
    const std::array<aqua_streamer, 2> ranks{open_decode(0), open_decode(1)};
    for (const aqua_streamer rank : ranks) admit(rank, 1);
    return ranks;
  }
  static void leave(aqua_streamer streamer) {
    EXPECT_EQ(code_of(aqua_streamer_free(streamer)), AQUA_OK);
  }
  static void leave(const std::array<aqua_streamer, 2>& ranks) {
    for (const aqua_streamer rank : ranks) leave(rank);
  }
  [[nodiscard]] static aqua_streamer_status status_of(aqua_streamer streamer) {
    aqua_streamer_status status = AQUA_STREAMER_STATUS_INIT;
    EXPECT_EQ(code_of(aqua_streamer_get_status(streamer, &status)), AQUA_OK);
    return status;
  }
  static void admit(aqua_streamer streamer, std::uint32_t sequences) {
    EXPECT_EQ(code_of(aqua_streamer_admit(streamer, "prefill", sequences)), AQUA_OK);
  }

  // --- waiting ------------------------------------------------------------------------------
  static void await_news(aqua_streamer streamer) {
    int news = 0;
    ASSERT_EQ(code_of(aqua_streamer_wait(streamer, kLongMs, &news)), AQUA_OK);
    ASSERT_EQ(news, 1) << "nothing came";
  }
  // Asks until the answer is 1; returns the code that ended it.
  template <typename Ask>
  [[nodiscard]] static aqua_code until(aqua_streamer streamer, const Ask& ask) {
    for (;;) {
      int answer = 0;
      const aqua_code code = code_of(ask(&answer));
      if (code != AQUA_OK || answer == 1 || ::testing::Test::HasFatalFailure()) return code;
      await_news(streamer);
    }
  }
  [[nodiscard]] static aqua_code until_ready(aqua_streamer streamer, aqua_stream_out out) {
    return until(streamer, [&](int* answer) { return aqua_stream_out_ready(out, answer); });
  }
  // The first sequence that comes, whose words are the streamer's until the next call. An empty
  // one: it has not come, which failed the test.
  [[nodiscard]] static aqua_arrived arrival(aqua_streamer streamer) {
    for (;;) {
      const aqua_arrived* const* list = nullptr;
      std::size_t count = 0;
      EXPECT_EQ(code_of(aqua_streamer_arrived(streamer, nullptr, nullptr, &list, &count)), AQUA_OK);
      if (count != 0) return *list[0];
      await_news(streamer);
      if (::testing::Test::HasFatalFailure()) return {};
    }
  }

  // --- sending ------------------------------------------------------------------------------
  [[nodiscard]] static Blocks blocks_of(const Cache& cache) {
    Blocks blocks;
    for (std::uint32_t i = 0; i * cache.tokens_per_block < kTokens; ++i)
      blocks.push_back((i * 3 + 1) % kBlocks);
    return blocks;
  }
  [[nodiscard]] static aqua_stream_out_options out_options(std::uint64_t sequence,
                                                           std::uint32_t attempt,
                                                           const Blocks& blocks) {
    aqua_stream_out_options options = AQUA_STREAM_OUT_OPTIONS_INIT;
    options.sequence = sequence;
    options.attempt = attempt;
    options.to = "decode";
    options.blocks = blocks.data();
    options.block_count = blocks.size();
    options.tokens = kTokens;
    return options;
  }
  [[nodiscard]] aqua_stream_out begin(aqua_streamer prefill, std::uint64_t sequence,
                                      std::uint32_t attempt = 1) const {
    const Blocks blocks = blocks_of(prefill_);
    const aqua_stream_out_options options = out_options(sequence, attempt, blocks);
    aqua_stream_out out{};
    EXPECT_EQ(code_of(aqua_streamer_stream_out(prefill, &options, &out)), AQUA_OK);
    return out;
  }
  // Writes and streams all of it; the receivers have admitted it. What is copied is overwritten.
  void send(aqua_streamer prefill, aqua_stream_out out, unsigned stamp) const {
    ASSERT_EQ(until_ready(prefill, out), AQUA_OK);
    for (unsigned layer = 0; layer < kLayers; ++layer) {
      write(prefill_, layer, stamp);
      ASSERT_EQ(code_of(aqua_stream_out_layer(out, layer, 0)), AQUA_OK);
    }
    ASSERT_EQ(code_of(aqua_stream_out_finish(out, "a\0b", 3, 0)), AQUA_OK);
    ASSERT_EQ(until(prefill, [&](int* copied) { return aqua_stream_out_copied(out, copied); }),
              AQUA_OK);
    for (unsigned layer = 0; layer < kLayers; ++layer) write(prefill_, layer, stamp + 99);
    ASSERT_EQ(until(prefill, [&](int* kept) { return aqua_stream_out_kept(out, kept); }), AQUA_OK);
  }

  // --- bytes --------------------------------------------------------------------------------
  static std::uint8_t byte_of(unsigned stamp, unsigned plane, std::uint32_t token,
                              std::uint32_t head, std::size_t at) {
    return static_cast<std::uint8_t>(stamp * 29 + plane * 101 + token * 31 + head * 17 + at * 7);
  }
  void write(const Cache& cache, unsigned layer, unsigned stamp) const {
    each_head(
        cache, layer,
        [&](std::uint8_t* to, const auto& bytes) {
          ASSERT_EQ(code_of(aqua_emulated_write(runtime_, 0, to, bytes.data(), bytes.size())),
                    AQUA_OK);
        },
        stamp);
  }
  [[nodiscard]] std::size_t wrong_bytes(const Cache& cache, unsigned stamp) const {
    std::size_t wrong = 0;
    for (unsigned layer = 0; layer < kLayers; ++layer) {
      each_head(
          cache, layer,
          [&](std::uint8_t* from, const auto& wanted) {
            std::array<std::uint8_t, kHeadBytes> bytes{};
            ASSERT_EQ(code_of(aqua_emulated_read(runtime_, 0, from, bytes.data(), bytes.size())),
                      AQUA_OK);
            ASSERT_EQ(code_of(aqua_emulated_synchronize(runtime_, 0)), AQUA_OK);
            for (std::size_t i = 0; i < bytes.size(); ++i)
              wrong += bytes.at(i) == wanted.at(i) ? 0U : 1U;
          },
          stamp);
    }
    return wrong;
  }

  KeeperProcess keeper_;
  const std::string socket_ = keeper_.socket();
  aqua_kv_shape prefill_shape_ = AQUA_KV_SHAPE_INIT, decode_shape_ = AQUA_KV_SHAPE_INIT;
  aqua_parallelism two_ranks_ = AQUA_PARALLELISM_INIT;
  aqua_stream_group prefill_group_ = AQUA_STREAM_GROUP_INIT;
  aqua_stream_group decode_group_ = AQUA_STREAM_GROUP_INIT;
  const aqua_stream_group* const prefill_groups_ = &prefill_group_;
  const aqua_stream_group* const decode_groups_ = &decode_group_;
  Cache prefill_{};
  std::array<Cache, 2> decode_{};

 private:
  [[nodiscard]] aqua_streamer_options options_of(const aqua_stream_group& own,
                                                 const aqua_stream_group* const* others) const {
    aqua_streamer_options options = AQUA_STREAMER_OPTIONS_INIT;
    options.group = own.name;
    options.shape = own.shape;
    options.parallelism = own.parallelism;
    options.others = others;
    options.other_count = 1;
    options.name = "small";
    options.keeper = socket_.c_str();
    options.parcel_bytes = std::size_t{64} << 10;
    return options;
  }
  [[nodiscard]] Cache make_cache(std::uint32_t tokens_per_block, std::uint32_t first_head,
                                 std::uint32_t heads, bool heads_first) const {
    Cache cache{.tokens_per_block = tokens_per_block,
                .first_head = first_head,
                .heads = heads,
                .heads_first = heads_first};
    void* base = nullptr;
    const std::size_t bytes = kLayers * kPlanes * kBlocks * cache.block_bytes();
    EXPECT_EQ(code_of(aqua_emulated_allocate(runtime_, bytes, &cache.memory, &base)), AQUA_OK);
    cache.base = static_cast<std::uint8_t*>(base);
    std::array<void*, kLayers> keys{}, values{};
    for (unsigned layer = 0; layer < kLayers; ++layer) {
      keys.at(layer) = cache.plane(layer * kPlanes);
      values.at(layer) = cache.plane(layer * kPlanes + 1);
    }
    aqua_paged_shape shape = AQUA_PAGED_SHAPE_INIT;
    shape.layers = kLayers;
    shape.block_count = kBlocks;
    shape.tokens_per_block = tokens_per_block;
    shape.element_bytes = 1;
    shape.order = heads_first ? AQUA_HEADS_FIRST : AQUA_TOKENS_FIRST;
    EXPECT_EQ(code_of(aqua_layout_create_mha(&shape, heads, kHeadBytes, keys.data(), values.data(),
                                             &cache.layout)),
              AQUA_OK);
    return cache;
  }
  static void free_cache(const Cache& cache) {
    EXPECT_EQ(code_of(aqua_layout_free(cache.layout)), AQUA_OK);
    EXPECT_EQ(code_of(aqua_emulated_free(cache.memory)), AQUA_OK);
  }
  // use(place, the bytes that are to be there) of each head of each token of a layer.
  template <typename Use>
  void each_head(const Cache& cache, unsigned layer, const Use& use, unsigned stamp) const {
    const Blocks blocks = blocks_of(cache);
    for (unsigned plane = layer * kPlanes; plane < (layer + 1) * kPlanes; ++plane) {
      for (std::uint32_t token = 0; token < kTokens; ++token) {
        for (std::uint32_t head = 0; head < cache.heads; ++head) {
          std::array<std::uint8_t, kHeadBytes> bytes{};
          for (std::size_t i = 0; i < kHeadBytes; ++i)
            bytes.at(i) = byte_of(stamp, plane, token, cache.first_head + head, i);
          use(cache.at(plane, blocks, token, head), bytes);
        }
      }
    }
  }
};

}  // namespace aqua::test
