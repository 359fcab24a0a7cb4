// SPDX-License-Identifier: Apache-2.0
// Stages through the C ABI, with a keeper of their own: caches with blocks of any size, replicators
// over them, and readers. Each byte of KV is a function of where it is, and of the ids of all
// tokens up to it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "aqua/handoff/segments.hpp"
#include "tests/capi/capi_fixture.hpp"
#include "tests/keeper/keeper_process.hpp"

namespace aqua::test {

class CapiReplicas : public CapiFixture {
 protected:
  using Ids = std::vector<std::uint32_t>;
  using Blocks = std::vector<std::uint32_t>;

  static constexpr std::uint32_t kLayers = 2, kPlanes = 4, kTokens = 256;
  static constexpr std::size_t kRowBytes = 32;  // of a token in a plane: two heads
  static constexpr std::uint32_t kLongMs = 60'000;
  static constexpr aqua_stream kNoStream = ~aqua_stream{0};

  struct Cache {
    aqua_emulated_memory memory{};
    std::uint8_t* base = nullptr;
    aqua_layout layout{};
    std::uint32_t tokens_per_block = 0;
    [[nodiscard]] std::uint8_t* at(unsigned plane, const Blocks& blocks,
                                   std::uint32_t token) const {
      const std::size_t place = std::size_t{blocks[token / tokens_per_block]} * tokens_per_block +
                                token % tokens_per_block;
      return base + (plane * kTokens + place) * kRowBytes;
    }
    [[nodiscard]] Blocks blocks(std::uint32_t tokens, std::uint32_t first = 0) const {
      Blocks blocks;
      for (std::uint32_t i = 0; i * tokens_per_block < tokens; ++i)
        blocks.push_back((first + i * 7) % (kTokens / tokens_per_block));
      return blocks;
    }
  };

  explicit CapiReplicas(std::uint64_t link_bytes_per_second = 0)
      : CapiFixture(link_bytes_per_second), cache_(make_cache(4)), other_(make_cache(8)) {}
  ~CapiReplicas() override {
    for (const Cache& cache : {cache_, other_}) {
      EXPECT_EQ(code_of(aqua_layout_free(cache.layout)), AQUA_OK);
      EXPECT_EQ(code_of(aqua_emulated_free(cache.memory)), AQUA_OK);
    }
  }

  [[nodiscard]] static Ids ids_of(std::uint32_t seed, std::uint32_t tokens) {
    Ids ids;
    for (std::uint32_t i = 0; i < tokens; ++i) ids.push_back(seed * 1000 + i);
    return ids;
  }

  // --- replicators and readers --------------------------------------------------------------
  [[nodiscard]] aqua_replicator_options options() const {
    aqua_replicator_options options = AQUA_REPLICATOR_OPTIONS_INIT;
    options.owner = &owner_;
    options.shape = "test";
    options.keeper = socket_.c_str();
    options.lag_tokens = 4;
    options.pack_steps = 2;
    options.pack_bytes = std::size_t{2} << 20;
    return options;
  }
  [[nodiscard]] aqua_replicator replicate(const Cache& cache,
                                          const aqua_replicator_options& given) const {
    aqua_replicator made{};
    EXPECT_EQ(code_of(aqua_replicator_create(runtime_, cache.layout, &given, &made)), AQUA_OK);
    return made;
  }
  [[nodiscard]] aqua_replicator replicate() const { return replicate(cache_, options()); }
  static void leave(aqua_replicator replicator) {
    EXPECT_EQ(code_of(aqua_replicator_free(replicator)), AQUA_OK);
  }
  static void leave(aqua_replica_reader reader) {
    EXPECT_EQ(code_of(aqua_replica_reader_free(reader)), AQUA_OK);
  }
  [[nodiscard]] static aqua_replicator_status status_of(aqua_replicator replicator) {
    aqua_replicator_status status = AQUA_REPLICATOR_STATUS_INIT;
    EXPECT_EQ(code_of(aqua_replicator_get_status(replicator, &status)), AQUA_OK);
    return status;
  }
  [[nodiscard]] static aqua_replica_reader_status status_of(aqua_replica_reader reader) {
    aqua_replica_reader_status status = AQUA_REPLICA_READER_STATUS_INIT;
    EXPECT_EQ(code_of(aqua_replica_reader_get_status(reader, &status)), AQUA_OK);
    return status;
  }
  [[nodiscard]] aqua_replica_reader_options reader_options(std::uint64_t term = 2) const {
    aqua_replica_reader_options options = AQUA_REPLICA_READER_OPTIONS_INIT;
    options.owner = &owner_;
    options.shape = "test";
    options.keeper = socket_.c_str();
    options.term = term;
    return options;
  }
  [[nodiscard]] aqua_replica_reader open_reader(const aqua_replica_reader_options& given) const {
    aqua_replica_reader reader{};
    EXPECT_EQ(code_of(aqua_replica_reader_open(runtime_, &given, &reader)), AQUA_OK);
    return reader;
  }
  [[nodiscard]] aqua_replica_reader open_reader(std::uint64_t term = 2) const {
    return open_reader(reader_options(term));
  }

  // --- writing ------------------------------------------------------------------------------
  [[nodiscard]] static aqua_written_tokens written(std::uint64_t sequence, const Ids& ids,
                                                   std::uint32_t first, const Blocks& blocks) {
    aqua_written_tokens written = AQUA_WRITTEN_TOKENS_INIT;
    written.sequence = sequence;
    written.blocks = blocks.data();
    written.block_count = blocks.size();
    written.ids = ids.data() + first;
    written.id_count = ids.size() - first;
    written.first = first;
    return written;
  }
  // Computes what of these ids is behind `first`.
  void compute(const Cache& cache, const Ids& ids, std::uint32_t first,
               const Blocks& blocks) const {
    each_row(cache, ids, blocks, [&](std::uint32_t token, std::uint8_t* to, const auto& row) {
      if (token < first) return;
      EXPECT_EQ(code_of(aqua_emulated_write(runtime_, 0, to, row.data(), row.size())), AQUA_OK);
    });
  }
  // The same, and gives it to the replicator.
  void step(aqua_replicator replicator, const Cache& cache, std::uint64_t sequence, const Ids& ids,
            std::uint32_t first, const Blocks& blocks, const std::string& sampler = {}) const {
    compute(cache, ids, first, blocks);
    aqua_written_tokens given = written(sequence, ids, first, blocks);
    given.sampler = sampler.data();
    given.sampler_bytes = sampler.size();
    const aqua_written_tokens* const list = &given;
    aqua_ticket ticket{};
    ASSERT_EQ(code_of(aqua_replicator_step(replicator, &list, 1, 0, &ticket)), AQUA_OK);
    EXPECT_EQ(code_of(aqua_ticket_wait(ticket)), AQUA_OK);
    EXPECT_EQ(code_of(aqua_ticket_free(ticket)), AQUA_OK);
  }
  [[nodiscard]] static std::uint32_t watermark(aqua_replicator replicator, std::uint64_t sequence) {
    std::uint32_t tokens = 0;
    EXPECT_EQ(code_of(aqua_replicator_get_watermark(replicator, sequence, &tokens)), AQUA_OK);
    return tokens;
  }
  // Until the keeper has as much of it.
  static void await(aqua_replicator replicator, std::uint64_t sequence, std::uint32_t tokens) {
    ASSERT_EQ(code_of(aqua_replicator_flush(replicator, 0)), AQUA_OK);
    while (watermark(replicator, sequence) < tokens) {
      int news = 0;
      ASSERT_EQ(code_of(aqua_replicator_wait(replicator, kLongMs, &news)), AQUA_OK);
      ASSERT_EQ(news, 1) << status_of(replicator).error;
      ASSERT_EQ(code_of(aqua_replicator_flush(replicator, 0)), AQUA_OK);
    }
  }
  // A sequence that the keeper has, as a stage that has died left it.
  void leave_behind(std::uint64_t sequence, const Ids& ids,
                    const aqua_replicator_options& given) const {
    const aqua_replicator dead = replicate(cache_, given);
    const Blocks blocks = cache_.blocks(static_cast<std::uint32_t>(ids.size()));
    step(dead, cache_, sequence, ids, 0, blocks, "state");
    await(dead, sequence, static_cast<std::uint32_t>(ids.size()));
    leave(dead);
  }

  // --- reading ------------------------------------------------------------------------------
  [[nodiscard]] static std::uint32_t watermark(aqua_replica_reader reader, std::uint64_t sequence,
                                               const Ids& ids, std::uint32_t room = kTokens) {
    std::uint32_t tokens = 0;
    EXPECT_EQ(code_of(aqua_replica_reader_get_watermark(reader, sequence, ids.data(), ids.size(),
                                                        room, &tokens)),
              AQUA_OK);
    return tokens;
  }
  [[nodiscard]] static aqua_restore_options restoring(std::uint64_t sequence, const Ids& ids,
                                                      std::uint32_t tokens, const Blocks& blocks) {
    aqua_restore_options options = AQUA_RESTORE_OPTIONS_INIT;
    options.sequence = sequence;
    options.ids = ids.data();
    options.id_count = ids.size();
    options.blocks = blocks.data();
    options.block_count = blocks.size();
    options.tokens = tokens;
    return options;
  }
  static void restore(aqua_replica_reader reader, const Cache& cache, std::uint64_t sequence,
                      const Ids& ids, std::uint32_t tokens, const Blocks& blocks) {
    const aqua_restore_options given = restoring(sequence, ids, tokens, blocks);
    aqua_ticket ticket{};
    ASSERT_EQ(code_of(aqua_replica_reader_restore(reader, cache.layout, &given, 0, &ticket)),
              AQUA_OK);
    EXPECT_EQ(code_of(aqua_ticket_wait(ticket)), AQUA_OK);
    EXPECT_EQ(code_of(aqua_ticket_free(ticket)), AQUA_OK);
  }
  // Bytes that are not those of the ids.
  [[nodiscard]] std::size_t wrong_bytes(const Cache& cache, const Ids& ids,
                                        const Blocks& blocks) const {
    std::size_t wrong = 0;
    each_row(cache, ids, blocks, [&](std::uint32_t, std::uint8_t* from, const auto& wanted) {
      std::array<std::uint8_t, kRowBytes> row{};
      EXPECT_EQ(code_of(aqua_emulated_read(runtime_, 0, from, row.data(), row.size())), AQUA_OK);
      EXPECT_EQ(code_of(aqua_emulated_synchronize(runtime_, 0)), AQUA_OK);
      for (std::size_t i = 0; i < row.size(); ++i) wrong += row.at(i) == wanted.at(i) ? 0U : 1U;
    });
    return wrong;
  }
  [[nodiscard]] std::size_t kept() const { return list_segments(socket_).value().size(); }

  KeeperProcess keeper_;
  const std::string socket_ = keeper_.socket();
  aqua_replica_owner owner_ = {sizeof(aqua_replica_owner), "decode", nullptr, 1, 0};
  Cache cache_, other_;

 private:
  [[nodiscard]] Cache make_cache(std::uint32_t tokens_per_block) const {
    Cache cache{.tokens_per_block = tokens_per_block};
    void* base = nullptr;
    const std::size_t plane_bytes = kTokens * kRowBytes;
    EXPECT_EQ(
        code_of(aqua_emulated_allocate(runtime_, kPlanes * plane_bytes, &cache.memory, &base)),
        AQUA_OK);
    cache.base = static_cast<std::uint8_t*>(base);
    std::array<void*, kLayers> keys{}, values{};
    for (unsigned layer = 0; layer < kLayers; ++layer) {
      keys.at(layer) = cache.base + std::size_t{2} * layer * plane_bytes;
      values.at(layer) = cache.base + (std::size_t{2} * layer + 1) * plane_bytes;
    }
    aqua_paged_shape shape = AQUA_PAGED_SHAPE_INIT;
    shape.layers = kLayers;
    shape.block_count = kTokens / tokens_per_block;
    shape.tokens_per_block = tokens_per_block;
    shape.element_bytes = 1;
    EXPECT_EQ(code_of(aqua_layout_create_mha(&shape, 2, kRowBytes / 2, keys.data(), values.data(),
                                             &cache.layout)),
              AQUA_OK);
    return cache;
  }
  // use(token, its row in the cache, what is to be there).
  template <typename Use>
  void each_row(const Cache& cache, const Ids& ids, const Blocks& blocks, const Use& use) const {
    std::uint64_t all = 1;
    for (std::uint32_t token = 0; token < ids.size(); ++token) {
      all = (all * 31 + ids[token] + 1) * 0x9e3779b97f4a7c15ULL;
      for (unsigned plane = 0; plane < kPlanes; ++plane) {
        std::array<std::uint8_t, kRowBytes> row{};
        for (std::size_t i = 0; i < row.size(); ++i)
          row.at(i) = static_cast<std::uint8_t>((all >> 32) + plane * 57 + i * 7);
        use(token, cache.at(plane, blocks, token), row);
      }
    }
  }
};

}  // namespace aqua::test
