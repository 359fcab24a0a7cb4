// SPDX-License-Identifier: Apache-2.0
// KV pools between real processes, with a real keeper: what is handed over arrives, byte for byte,
// and nothing is copied. Members inside one process are as good, where nobody has to die.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/handoff/pools.hpp"
#include "tests/base/code_of.hpp"
#include "tests/base/few_threads.hpp"
#include "tests/base/sanitized.hpp"
#include "tests/handoff/stamped_pool.hpp"
#include "tests/keeper/keeper_process.hpp"
#include "tests/keeper/peer_program.hpp"

namespace aqua {
namespace {

using namespace std::chrono_literals;

// Inodes of the slabs that a process has mapped.
std::set<std::string> slabs_of(pid_t pid) {
  std::set<std::string> inodes;
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("aqua-slab") == std::string::npos) continue;
    std::istringstream fields(line);
    std::string range, access, offset, device, inode;
    fields >> range >> access >> offset >> device >> inode;
    inodes.insert(inode);
  }
  return inodes;
}

class KvPoolTest : public ::testing::Test {
 protected:
  [[nodiscard]] KvPool join(const std::string& role) {
    return KvPool::attach(gpu_, small_pool(keeper_.socket(), role)).value();
  }
  [[nodiscard]] std::vector<PoolStatus> pools() const {
    return list_pools(keeper_.socket()).value();
  }
  // The row of the pool, once it is as it should be: the keeper hears of much a little later.
  template <typename Wanted>
  PoolStatus row_when(const Wanted& wanted) const {
    for (;;) {
      const auto rows = pools();
      if (rows.size() == 1 && wanted(rows[0])) return rows[0];
      std::this_thread::yield();
    }
  }

  test::KeeperProcess keeper_;
  Runtime gpu_ = open_small_gpu();
};

TEST_F(KvPoolTest, WhoHasNoThreadForItsLinkIsRefusedAndHasNoBlocks) {
#ifdef AQUA_SANITIZED
  GTEST_SKIP() << "a sanitizer maps memory of its own for each thread";
#endif
  KvPool decode = join("decode");
  {
    const test::FewThreads one(1);
    EXPECT_EQ(code_of(KvPool::attach(gpu_, small_pool(keeper_.socket(), "prefill"))),
              "resource_exhausted");
  }
  EXPECT_EQ(blocks_of(decode, kPoolBlocks).size(), kPoolBlocks);
  EXPECT_EQ(pools().at(0).members, 1U);
}

TEST_F(KvPoolTest, WhatIsMappedIsNotTheEnginesToUse) {
  const MemoryBudget before = gpu_.budget();
  EXPECT_EQ(before.shared_bytes, 0U);
  {
    const KvPool prefill = join("prefill");
    const std::size_t bytes = gpu_.budget().shared_bytes;
    EXPECT_GE(bytes, prefill.layout().block_bytes() * kPoolBlocks);
    EXPECT_EQ(gpu_.budget().engine_bytes, before.engine_bytes - bytes);
    const KvPool decode = join("decode");
    EXPECT_EQ(gpu_.budget().shared_bytes, 2 * bytes) << "each mapping counts";
  }
  EXPECT_EQ(gpu_.budget(), before);
}

TEST_F(KvPoolTest, PrefillHandsOverToDecodeInTheSameMemory) {
  test::PeerProgram prefill(keeper_.socket());
  test::PeerProgram decode(keeper_.socket());
  ASSERT_EQ(prefill.ask("attach prefill"), "ok");
  ASSERT_EQ(decode.ask("attach decode"), "ok");
  for (int i = 0; i < 20; ++i) {
    const std::string id = "r" + std::to_string(i);
    ASSERT_EQ(prefill.ask("hand " + id + " 1 5 " + std::to_string(100 + i)), "ok");
    ASSERT_EQ(decode.ask("take 1"), id);
    ASSERT_EQ(decode.ask("append"), "ok");
    ASSERT_EQ(decode.ask("check"), "ok");
    ASSERT_EQ(decode.ask("finish"), "ok");
  }
  std::size_t in_both = 0;
  const auto of_decode = slabs_of(decode.pid());
  for (const std::string& inode : slabs_of(prefill.pid())) in_both += of_decode.count(inode);
  EXPECT_EQ(in_both, 1U) << "the pool has one slab; what else they have is their own";
  const PoolStatus row = pools().at(0);
  EXPECT_EQ(row.pool, "small");
  EXPECT_EQ(row.members, 2U);
  EXPECT_EQ(row.bytes, std::size_t{2} << 20);
  EXPECT_EQ(row.blocks, kPoolBlocks);
  ASSERT_EQ(prefill.ask("leave"), "ok");
  ASSERT_EQ(decode.ask("leave"), "ok");
  EXPECT_TRUE(pools().empty()) << "a pool without members and parcels goes";
}

TEST_F(KvPoolTest, AParcelIsHandedOverBehindTheWorkOfItsStream) {
  KvPool prefill = join("prefill");
  KvPool decode = join("decode");
  const Stream stream = emulated::create_stream(gpu_).value();
  const auto blocks = blocks_of(prefill, 3);
  std::promise<void> go;
  ASSERT_TRUE(emulated::launch(gpu_, stream, [&, blocks] {
                go.get_future().wait();
                stamp_blocks(prefill.layout(), blocks, 5);
              }).ok());
  ASSERT_TRUE(prefill.hand_over({.id = "r", .turn = 1, .blocks = blocks}, "decode", stream).ok());
  EXPECT_TRUE(decode.accept(1).empty());
  EXPECT_FALSE(decode.wait(100ms)) << "the work before it has not ended";
  EXPECT_EQ(pools().at(0).waiting, 0U);
  go.set_value();
  EXPECT_TRUE(are_stamped(decode.layout(), take(decode).blocks, 5));
  EXPECT_TRUE(emulated::destroy_stream(gpu_, stream).ok());
}

TEST_F(KvPoolTest, ItsLayoutIsACacheForOffloadAndFetch) {
  KvPool pool = join("decode");
  const auto blocks = blocks_of(pool, 4);
  stamp_blocks(pool.layout(), blocks, 9);
  AquaTensor tensor = gpu_.allocate({.bytes = pool.layout().packed_bytes(4)}).value();
  ASSERT_TRUE(gpu_.offload(pool.layout(), blocks, tensor, {})->wait().ok());
  stamp_blocks(pool.layout(), blocks, 1);
  ASSERT_TRUE(gpu_.fetch(tensor, pool.layout(), blocks, {})->wait().ok());
  EXPECT_TRUE(are_stamped(pool.layout(), blocks, 9));
}

TEST_F(KvPoolTest, EveryBlockIsGivenOutOnceAndComesBack) {
  KvPool one = join("decode");
  KvPool other = join("decode");
  std::set<std::uint32_t> given;
  std::vector<std::vector<std::uint32_t>> ones;
  for (std::uint32_t i = 0; i < kPoolBlocks - 8; ++i) {
    ones.push_back(blocks_of(one, 1));
    EXPECT_TRUE(given.insert(ones.back()[0]).second);
  }
  while (other.status().idle > 0) {
    EXPECT_TRUE(given.insert(blocks_of(other, 1)[0]).second);
  }
  EXPECT_EQ(code_of(other.allocate(9)), "resource_exhausted");
  for (const auto& block : ones) ASSERT_TRUE(one.release(block, {}).ok());
  EXPECT_EQ(blocks_of(other, 9).size(), 9U) << "what the one gave back wakes the other";
  EXPECT_EQ(one.status().used, 0U);
  // Twice the reserve is kept; what is more goes back a little later.
  while (one.status().idle > 2 * small_pool("", "").reserve) std::this_thread::yield();
}

TEST_F(KvPoolTest, WhatIsNotAMembersOwnIsRefused) {
  KvPool prefill = join("prefill");
  KvPool decode = join("decode");
  const auto own = blocks_of(prefill, 2);
  const auto foreign = blocks_of(decode, 1);
  const std::vector<std::uint32_t> mixed{own[0], foreign[0]};
  const std::vector<std::uint32_t> twice{own[0], own[0]};
  for (const auto& list : {mixed, twice, {own[0], kPoolBlocks}}) {
    EXPECT_EQ(code_of(prefill.release(list, {})), "invalid_argument");
    EXPECT_EQ(code_of(prefill.share(list)), "invalid_argument");
    EXPECT_EQ(code_of(prefill.hand_over({.id = "r", .blocks = list}, "decode", {})),
              "invalid_argument");
  }
  EXPECT_EQ(code_of(prefill.hand_over({.id = "r", .blocks = own}, "decode", Stream{77})),
            "invalid_argument")
      << "no such stream";
  EXPECT_EQ(code_of(prefill.finish(1, {})), "not_found");
  EXPECT_EQ(prefill.status().used, 2U) << "nothing has changed";
  ASSERT_TRUE(prefill.hand_over({.id = "r", .turn = 1, .blocks = own}, "decode", {}).ok());
  EXPECT_EQ(code_of(prefill.hand_over({.id = "r", .turn = 2, .blocks = own}, "decode", {})),
            "invalid_argument")
      << "handed over";
  const std::uint64_t number = take(decode).number;
  ASSERT_TRUE(decode.finish(number, {}).ok());
  EXPECT_EQ(code_of(decode.finish(number, {})), "not_found");
}

TEST_F(KvPoolTest, ALowerTurnComesBackWithItsBlocks) {
  KvPool prefill = join("prefill");
  const auto first = blocks_of(prefill, 1);
  const auto second = blocks_of(prefill, 1);
  ASSERT_TRUE(prefill.hand_over({.id = "r", .turn = 2, .blocks = first}, "decode", {}).ok());
  ASSERT_TRUE(prefill.hand_over({.id = "r", .turn = 2, .blocks = second}, "decode", {}).ok());
  const Undelivered back = returned(prefill);
  EXPECT_EQ(back.error.code, Code::aborted);
  EXPECT_EQ(back.parcel.blocks, second);
  EXPECT_EQ(back.role, "decode");
  EXPECT_FALSE(back.in_doubt);
  EXPECT_TRUE(prefill.release(second, {}).ok()) << "they are its own again";
  KvPool decode = join("decode");
  EXPECT_EQ(take(decode).blocks, first);
}

TEST_F(KvPoolTest, APrefixIsReadByAllAndGoesWithTheLast) {
  KvPool prefill = join("prefill");
  KvPool decode = join("decode");
  const auto prefix = blocks_of(prefill, 2);
  stamp_blocks(prefill.layout(), prefix, 3);
  ASSERT_TRUE(prefill.share(prefix).ok());
  for (const char* const id : {"a", "b"}) {
    auto blocks = prefix;
    blocks.push_back(blocks_of(prefill, 1)[0]);
    ASSERT_TRUE(prefill.hand_over({.id = id, .turn = 1, .blocks = blocks}, "decode", {}).ok());
  }
  ASSERT_TRUE(prefill.release(prefix, {}).ok());
  const std::vector<Parcel> taken{take(decode), take(decode)};
  EXPECT_EQ(pools()[0].shared, 2U);
  ASSERT_TRUE(decode.finish(taken[0].number, {}).ok());
  EXPECT_TRUE(are_stamped(decode.layout(), {prefix[0], prefix[1]}, 3));
  ASSERT_TRUE(decode.finish(taken[1].number, {}).ok());
  row_when([](const PoolStatus& row) { return row.shared == 0; });
}

TEST_F(KvPoolTest, DecodePushesASequenceBackWithWhatItAppended) {
  KvPool prefill = join("prefill");
  KvPool decode = join("decode");
  const auto prompt = blocks_of(prefill, 2);
  ASSERT_TRUE(prefill.hand_over({.id = "r", .turn = 1, .blocks = prompt}, "decode", {}).ok());
  Parcel parcel = take(decode);
  ++parcel.turn;
  parcel.blocks.push_back(blocks_of(decode, 1)[0]);
  ASSERT_TRUE(decode.hand_over(parcel, "prefill", {}).ok());
  EXPECT_EQ(code_of(decode.finish(parcel.number, {})), "not_found") << "it is on its way";
  EXPECT_EQ(take(prefill).blocks, parcel.blocks);
}

TEST_F(KvPoolTest, OfAnotherShapeOrNameOfAKeeperItIsRefused) {
  KvPool pool = join("decode");
  KvPoolOptions options = small_pool(keeper_.socket(), "decode");
  const auto attach_code = [&] { return code_of(KvPool::attach(gpu_, options)); };
  options.shape.format = "other";
  EXPECT_EQ(attach_code(), "failed_precondition");
  options = small_pool(keeper_.socket(), "decode");
  options.shape.blocks += 1;
  EXPECT_EQ(attach_code(), "failed_precondition");
  options = small_pool(keeper_.socket() + ".none", "decode");
  EXPECT_EQ(attach_code(), "unavailable");
  options = small_pool(keeper_.socket(), "");
  EXPECT_EQ(attach_code(), "invalid_argument");
  options = small_pool(keeper_.socket(), "decode");
  options.shape.layers = 0;
  EXPECT_EQ(attach_code(), "invalid_argument");
  options = small_pool(keeper_.socket(), "decode");
  options.slab_bytes = 1;
  EXPECT_EQ(attach_code(), "invalid_argument");
  Runtime elsewhere = Runtime::open({.device = "emu:1", .coordinator = "none"}).value();
  EXPECT_EQ(code_of(KvPool::attach(elsewhere, small_pool(keeper_.socket(), "decode"))),
            "failed_precondition");
  options = small_pool(keeper_.socket(), "decode");
  options.name = "large";
  options.shape.plane_block_bytes = 1 << 20;
  EXPECT_EQ(attach_code(), "resource_exhausted");
  EXPECT_EQ(pools().size(), 1U) << "nothing is left of those";
}

TEST_F(KvPoolTest, AForkedChildLeavesItToItsParent) {
  std::optional<KvPool> pool = join("prefill");
  const auto blocks = blocks_of(*pool, 2);
  EXPECT_EXIT(
      {
        const bool refused = code_of(pool->release(blocks, {})) == "failed_precondition";
        pool.reset();
        ::_exit(refused ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(pools().at(0).members, 1U);
  EXPECT_TRUE(pool->release(blocks, {}).ok());
}

TEST_F(KvPoolTest, OperatorsCancelParcelsAndRemovePools) {
  {
    KvPool prefill = join("prefill");
    EXPECT_EQ(code_of(remove_pool("small", keeper_.socket())), "failed_precondition");
    for (const char* const id : {"a", "b"}) {
      const auto blocks = blocks_of(prefill, 2);
      ASSERT_TRUE(prefill.hand_over({.id = id, .turn = 1, .blocks = blocks}, "decode", {}).ok());
    }
  }
  EXPECT_EQ(pools().at(0).waiting, 2U) << "they outlive their giver";
  EXPECT_EQ(pools().at(0).offered, 4U);
  EXPECT_EQ(code_of(cancel_parcel("small", "x", keeper_.socket())), "not_found");
  EXPECT_EQ(code_of(cancel_parcel("none", "a", keeper_.socket())), "not_found");
  EXPECT_EQ(code_of(cancel_parcel("small", "a", keeper_.socket(), 0)), "not_found")
      << "it was given under a higher turn";
  EXPECT_EQ(pools().at(0).offered, 4U);
  EXPECT_TRUE(cancel_parcel("small", "a", keeper_.socket(), 1).ok());
  EXPECT_EQ(pools().at(0).offered, 2U);
  EXPECT_TRUE(remove_pool("small", keeper_.socket()).ok());
  EXPECT_EQ(code_of(remove_pool("small", keeper_.socket())), "not_found");
  EXPECT_TRUE(pools().empty());
}

}  // namespace
}  // namespace aqua
