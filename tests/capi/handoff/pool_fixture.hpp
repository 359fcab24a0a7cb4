// SPDX-License-Identifier: Apache-2.0
// Members of a small KV pool through the C ABI, with a keeper of their own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/capi/capi_fixture.hpp"
#include "tests/keeper/keeper_process.hpp"

namespace aqua::test {

class CapiKvPool : public CapiFixture {
 protected:
  using Blocks = std::vector<std::uint32_t>;

  static constexpr std::uint32_t kLayers = 2, kPlanes = 2, kBlocks = 64;
  static constexpr std::size_t kPlaneBlockBytes = 512;
  static constexpr std::uint32_t kLongMs = 60'000;

  CapiKvPool() {
    shape_.layers = kLayers;
    shape_.planes_per_layer = kPlanes;
    shape_.plane_block_bytes = kPlaneBlockBytes;
    shape_.tokens_per_block = 4;
    shape_.blocks = kBlocks;
    shape_.format = "stamps";
  }

  [[nodiscard]] aqua_kv_pool_options options(const char* role) const {
    aqua_kv_pool_options options = AQUA_KV_POOL_OPTIONS_INIT;
    options.name = "small";
    options.role = role;
    options.shape = &shape_;
    options.slab_bytes = std::size_t{2} << 20;
    options.keeper = socket_.c_str();
    options.reserve = 4;
    return options;
  }
  [[nodiscard]] aqua_kv_pool join(const char* role) const {
    const aqua_kv_pool_options given = options(role);
    aqua_kv_pool pool{};
    EXPECT_EQ(code_of(aqua_kv_pool_attach(runtime_, &given, &pool)), AQUA_OK);
    return pool;
  }
  static void leave(aqua_kv_pool pool) { EXPECT_EQ(code_of(aqua_kv_pool_free(pool)), AQUA_OK); }
  [[nodiscard]] static aqua_kv_pool_status status_of(aqua_kv_pool pool) {
    aqua_kv_pool_status status = AQUA_KV_POOL_STATUS_INIT;
    EXPECT_EQ(code_of(aqua_kv_pool_get_status(pool, &status)), AQUA_OK);
    return status;
  }

  // The next of these calls waits for news where there is nothing yet.
  static void await_news(aqua_kv_pool pool) {
    int news = 0;
    ASSERT_EQ(code_of(aqua_kv_pool_wait(pool, kLongMs, &news)), AQUA_OK);
    ASSERT_EQ(news, 1) << "nothing came";
  }
  [[nodiscard]] static Blocks allocate(aqua_kv_pool pool, std::size_t count) {
    Blocks blocks(count);
    for (;;) {
      const aqua_code code = code_of(aqua_kv_pool_allocate(pool, count, blocks.data()));
      if (code == AQUA_OK || ::testing::Test::HasFatalFailure()) return blocks;
      EXPECT_EQ(code, AQUA_RESOURCE_EXHAUSTED);
      await_news(pool);
    }
  }
  // The first state of a parcel that is another than this one.
  [[nodiscard]] static aqua_parcel_state state_after(aqua_kv_pool pool, std::uint64_t number,
                                                     aqua_parcel_state before) {
    for (;;) {
      aqua_parcel_state state = before;
      EXPECT_EQ(code_of(aqua_kv_pool_get_parcel_state(pool, number, &state)), AQUA_OK);
      if (state != before || ::testing::Test::HasFailure()) return state;
      await_news(pool);
    }
  }
  // What answers a list: waits until it has something.
  template <typename Item, typename Call>
  static const Item* next_of(aqua_kv_pool pool, const Call& call) {
    for (;;) {
      const Item* const* list = nullptr;
      std::size_t count = 0;
      EXPECT_EQ(code_of(call(&list, &count)), AQUA_OK);
      if (count != 0) return list[0];
      await_news(pool);
      if (::testing::Test::HasFatalFailure()) return nullptr;
    }
  }
  [[nodiscard]] static const aqua_parcel* take(aqua_kv_pool pool) {
    return next_of<aqua_parcel>(
        pool, [&](auto** list, auto* count) { return aqua_kv_pool_accept(pool, 1, list, count); });
  }
  [[nodiscard]] static const aqua_undelivered* undelivered(aqua_kv_pool pool) {
    return next_of<aqua_undelivered>(pool, [&](auto** list, auto* count) {
      return aqua_kv_pool_undelivered(pool, list, count);
    });
  }
  [[nodiscard]] static const aqua_delivery* delivery(aqua_kv_pool pool) {
    return next_of<aqua_delivery>(
        pool, [&](auto** list, auto* count) { return aqua_kv_pool_deliveries(pool, list, count); });
  }

  [[nodiscard]] static aqua_parcel parcel_of(const char* id, std::uint64_t turn,
                                             const Blocks& blocks) {
    aqua_parcel parcel = AQUA_PARCEL_INIT;
    parcel.id = id;
    parcel.turn = turn;
    parcel.blocks = blocks.data();
    parcel.block_count = blocks.size();
    parcel.tokens = static_cast<std::uint32_t>(4 * blocks.size());
    return parcel;
  }

  // One layer of a request's blocks, each byte as it is to be.
  static std::uint8_t byte_of(unsigned stamp, std::size_t block, unsigned layer, std::size_t at) {
    return static_cast<std::uint8_t>(stamp * 31 + block * 17 + layer * 7 + at);
  }
  void write_layer(aqua_kv_pool pool, const Blocks& blocks, unsigned layer, unsigned stamp) const {
    each_plane_block(pool, blocks, layer, [&](std::size_t i, std::uint8_t* to) {
      std::vector<std::uint8_t> bytes(kPlaneBlockBytes);
      for (std::size_t at = 0; at < bytes.size(); ++at) bytes[at] = byte_of(stamp, i, layer, at);
      ASSERT_EQ(code_of(aqua_emulated_write(runtime_, 0, to, bytes.data(), bytes.size())), AQUA_OK);
    });
  }
  void write(aqua_kv_pool pool, const Blocks& blocks, unsigned stamp) const {
    for (unsigned layer = 0; layer < kLayers; ++layer) write_layer(pool, blocks, layer, stamp);
  }
  [[nodiscard]] std::size_t wrong_bytes(aqua_kv_pool pool, const Blocks& blocks,
                                        unsigned stamp) const {
    std::size_t wrong = 0;
    for (unsigned layer = 0; layer < kLayers; ++layer) {
      each_plane_block(pool, blocks, layer, [&](std::size_t i, std::uint8_t* from) {
        std::vector<std::uint8_t> bytes(kPlaneBlockBytes);
        ASSERT_EQ(code_of(aqua_emulated_read(runtime_, 0, from, bytes.data(), bytes.size())),
                  AQUA_OK);
        ASSERT_EQ(code_of(aqua_emulated_synchronize(runtime_, 0)), AQUA_OK);
        for (std::size_t at = 0; at < bytes.size(); ++at) {
          wrong += bytes[at] == byte_of(stamp, i, layer, at) ? 0U : 1U;
        }
      });
    }
    return wrong;
  }
  [[nodiscard]] static Blocks blocks_of(const aqua_parcel& parcel) {
    return {parcel.blocks, parcel.blocks + parcel.block_count};
  }

  KeeperProcess keeper_;
  const std::string socket_ = keeper_.socket();
  aqua_kv_pool_shape shape_ = AQUA_KV_POOL_SHAPE_INIT;

 private:
  template <typename Use>
  static void each_plane_block(aqua_kv_pool pool, const Blocks& blocks, unsigned layer,
                               const Use& use) {
    for (unsigned plane = 0; plane < kPlanes; ++plane) {
      void* address = nullptr;
      ASSERT_EQ(code_of(aqua_kv_pool_get_plane(pool, layer, plane, &address)), AQUA_OK);
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        use(i * kPlanes + plane,
            static_cast<std::uint8_t*>(address) + blocks[i] * kPlaneBlockBytes);
      }
    }
  }
};

}  // namespace aqua::test
