// SPDX-License-Identifier: Apache-2.0
// The contract of carriers, of a pool and of the one in memory.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "aqua/handoff/pools.hpp"
#include "tests/handoff/carrier_contract.hpp"
#include "tests/handoff/memory_carrier.hpp"
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
  static bool landed(Carrier& carrier, const Parcel& parcel, std::uint64_t stamp) {
    auto& pool = dynamic_cast<KvPool&>(carrier);
    const auto ticket = pool.land(parcel.number, {}, {}, {});
    return ticket.ok() && *ticket->done() && are_stamped(pool.layout(), parcel.blocks, stamp);
  }
  void cancel(const std::string& id) {
    EXPECT_TRUE(cancel_parcel("small", id, keeper.socket()).ok());
  }

  test::KeeperProcess keeper{};
  Runtime gpu = open_small_gpu();
};

struct MemoryWorld {
  std::unique_ptr<Carrier> join(const std::string& role) {
    return std::make_unique<test::MemoryCarrier>(hub, role);
  }
  static std::vector<std::uint32_t> filled(Carrier& carrier, std::uint32_t count,
                                           std::uint64_t stamp) {
    std::vector<std::uint32_t> blocks;
    for (std::uint32_t b = 0; b < count; ++b) {
      const std::uint64_t word = stamp * 31 + b;
      std::memcpy(dynamic_cast<test::MemoryCarrier&>(carrier).block(b), &word, sizeof word);
      blocks.push_back(b);
    }
    return blocks;
  }
  static bool landed(Carrier& carrier, const Parcel& parcel, std::uint64_t stamp) {
    const std::vector<std::uint32_t> into{9, 8};
    if (!carrier.land(parcel.number, {}, into, {}).ok()) return false;
    for (std::uint32_t i = 0; i < into.size(); ++i) {
      const std::uint64_t word = stamp * 31 + i;
      const auto* const at = dynamic_cast<test::MemoryCarrier&>(carrier).block(into[i]);
      if (std::memcmp(at, &word, sizeof word) != 0) return false;
    }
    return true;
  }
  void cancel(const std::string& id) { EXPECT_TRUE(hub.book.cancel(id).ok()); }

  test::MemoryHub hub{};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Pool, CarrierContract, PoolWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(Memory, CarrierContract, MemoryWorld);

}  // namespace
}  // namespace aqua
