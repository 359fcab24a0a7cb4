// SPDX-License-Identifier: Apache-2.0
// The contract of carriers: of a pool, of the one over segments and of the one in memory.
#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "aqua/handoff/pools.hpp"
#include "aqua/handoff/segment_carrier.hpp"
#include "base/internals.hpp"
#include "tests/handoff/copying_carrier_contract.hpp"
#include "tests/handoff/memory_carrier.hpp"
#include "tests/handoff/small_carrier.hpp"
#include "tests/handoff/stamped_cache.hpp"
#include "tests/handoff/stamped_pool.hpp"
#include "tests/keeper/keeper_process.hpp"

namespace aqua {
namespace {

struct PoolWorld {
  std::unique_ptr<Carrier> join(const std::string& role) {
    return std::make_unique<KvPool>(KvPool::attach(gpu, small_pool(keeper.socket(), role)).value());
  }
  static std::vector<std::uint32_t> filled(Carrier& carrier, std::size_t count,
                                           std::uint64_t stamp) {
    auto& pool = dynamic_cast<KvPool&>(carrier);
    for (;;) {
      auto blocks = pool.allocate(count);
      if (!blocks.ok()) {
        EXPECT_TRUE(pool.wait(std::chrono::seconds(20)));
        continue;
      }
      stamp_blocks(pool.layout(), *blocks, stamp);
      return *blocks;
    }
  }
  static Stream stream(Carrier& /*carrier*/) { return {}; }
  static Result<Ticket> land(Carrier& carrier, const Parcel& parcel, Stream stream) {
    return carrier.land(parcel.number, {}, {}, {}, stream);
  }
  static bool landed(Carrier& carrier, const Parcel& parcel, std::uint64_t stamp) {
    auto& pool = dynamic_cast<KvPool&>(carrier);
    const auto ticket = land(carrier, parcel, {});
    return ticket.ok() && *ticket->done() && are_stamped(pool.layout(), parcel.blocks, stamp);
  }
  void cancel(const std::string& id) {
    EXPECT_TRUE(cancel_parcel("small", id, keeper.socket()).ok());
  }

  test::KeeperProcess keeper{};
  Runtime gpu = open_small_gpu();
};

// Members of one carrier that copies, each with a cache of its own.
struct CopyingWorld {
  static constexpr std::uint32_t kLayers = 2;
  static constexpr std::array<std::uint32_t, 2> kInto{9, 4};

  test::StampedCache& cache(const Carrier& carrier) { return *caches.at(&carrier); }
  // Others by each call: what was filled before may still be carried.
  std::vector<std::uint32_t> filled(Carrier& carrier, std::size_t count, std::uint64_t stamp) {
    auto blocks = test::StampedCache::blocks(count, 5 + 6 * times_filled++, 3);
    cache(carrier).stamp(blocks, stamp);
    return blocks;
  }
  Stream stream(Carrier& carrier) { return cache(carrier).stream(); }
  static Result<Ticket> land(Carrier& carrier, const Parcel& parcel, Stream stream) {
    return carrier.land(parcel.number, {}, kInto, {}, stream);
  }
  bool landed(Carrier& carrier, const Parcel& parcel, std::uint64_t stamp) {
    const auto ticket = land(carrier, parcel, stream(carrier));
    return ticket.ok() && cache(carrier).stamped({kInto.begin(), kInto.end()}, stamp);
  }
  void wipe(Carrier& carrier, const std::vector<std::uint32_t>& blocks) {
    cache(carrier).stamp(blocks, 0);
  }
  bool are_stamped(Carrier& carrier, const std::vector<std::uint32_t>& blocks, std::uint32_t layer,
                   std::uint64_t stamp, std::uint32_t as_layer) {
    return cache(carrier).stamped(blocks, stamp, layer, as_layer);
  }

  Runtime gpu = test::StampedCache::open_runtime();
  std::uint32_t times_filled = 0;
  std::map<const Carrier*, std::unique_ptr<test::StampedCache>> caches{};
};

struct MemoryWorld : CopyingWorld {
  std::unique_ptr<Carrier> join(const std::string& role) {
    auto cache = std::make_unique<test::StampedCache>(detail::Internals::view(gpu));
    auto carrier = std::make_unique<test::MemoryCarrier>(hub, gpu, cache->layout(), role);
    caches[carrier.get()] = std::move(cache);
    return carrier;
  }
  void cancel(const std::string& id) { EXPECT_TRUE(hub.book.cancel(id).ok()); }

  test::MemoryHub hub{};
};

struct SegmentWorld : CopyingWorld {
  std::unique_ptr<Carrier> join(const std::string& role) {
    auto cache = std::make_unique<test::StampedCache>(detail::Internals::view(gpu));
    auto carrier = std::make_unique<SegmentCarrier>(
        SegmentCarrier::attach(gpu, cache->layout(), test::small_carrier(keeper.socket(), role))
            .value());
    caches[carrier.get()] = std::move(cache);
    return carrier;
  }
  void cancel(const std::string& id) {
    EXPECT_TRUE(cancel_parcel("carried", id, keeper.socket()).ok());
  }

  test::KeeperProcess keeper{};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Pool, CarrierContract, PoolWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(Memory, CarrierContract, MemoryWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(Memory, CopyingCarrierContract, MemoryWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(Segments, CarrierContract, SegmentWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(Segments, CopyingCarrierContract, SegmentWorld);

}  // namespace
}  // namespace aqua
