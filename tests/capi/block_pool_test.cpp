// SPDX-License-Identifier: Apache-2.0
// Block pools over the C ABI: numbers only, no runtime.
#include <array>
#include <vector>

#include "tests/capi/capi_fixture.hpp"

namespace aqua::test {
namespace {

class CapiBlockPool : public ::testing::Test {
 protected:
  CapiBlockPool() { EXPECT_EQ(code_of(aqua_block_pool_create(2, 6, &list_)), AQUA_OK); }
  ~CapiBlockPool() override { EXPECT_EQ(code_of(aqua_block_pool_free(list_)), AQUA_OK); }
  [[nodiscard]] aqua_block_pool_info info() const {
    aqua_block_pool_info told = AQUA_BLOCK_POOL_INFO_INIT;
    EXPECT_EQ(code_of(aqua_block_pool_get_info(list_, &told)), AQUA_OK);
    return told;
  }
  std::vector<std::uint32_t> allocate(std::uint64_t sequence, std::uint32_t count) {
    std::vector<std::uint32_t> blocks(count);
    EXPECT_EQ(code_of(aqua_block_pool_allocate(list_, sequence, count, blocks.data())), AQUA_OK);
    return blocks;
  }
  aqua_code resize(std::uint32_t blocks) {
    return code_of(aqua_block_pool_resize(list_, blocks, named_.data(), named_.size(), &count_));
  }

  aqua_block_pool list_{};
  std::array<std::uint64_t, 4> named_{};
  std::array<aqua_block_move, 4> moves_{};
  std::size_t count_ = 77;
};

TEST_F(CapiBlockPool, BlocksAreHandedOutAndTakenBack) {
  EXPECT_EQ(allocate(7, 2), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(allocate(8, 1), std::vector<std::uint32_t>{2});
  EXPECT_EQ(allocate(7, 1), std::vector<std::uint32_t>{3});
  EXPECT_EQ(code_of(aqua_block_pool_allocate(list_, 9, 0, nullptr)), AQUA_OK);
  std::uint32_t untouched[3] = {5, 5, 5};
  EXPECT_EQ(code_of(aqua_block_pool_allocate(list_, 9, 3, untouched)), AQUA_RESOURCE_EXHAUSTED);
  EXPECT_EQ(untouched[0], 5U);
  const aqua_block_pool_info told = info();
  EXPECT_EQ(told.layers, 2U);
  EXPECT_EQ(told.usable_blocks, 6U);
  EXPECT_EQ(told.target_blocks, 6U);
  EXPECT_EQ(told.free_blocks, 2U);
  EXPECT_EQ(told.resizing, 0U);
  EXPECT_EQ(told.vacated, 1U);

  std::array<std::uint32_t, 3> blocks{9, 9, 9};
  ASSERT_EQ(code_of(aqua_block_pool_get_blocks(list_, 7, blocks.data(), 2, &count_)), AQUA_OK);
  EXPECT_EQ(count_, 3U) << "more than there was room for";
  EXPECT_EQ(blocks, (std::array<std::uint32_t, 3>{0, 1, 9}));
  ASSERT_EQ(code_of(aqua_block_pool_get_blocks(list_, 7, blocks.data(), 3, &count_)), AQUA_OK);
  EXPECT_EQ(blocks, (std::array<std::uint32_t, 3>{0, 1, 3}));
  ASSERT_EQ(code_of(aqua_block_pool_get_blocks(list_, 5, nullptr, 0, &count_)), AQUA_OK);
  EXPECT_EQ(count_, 0U);

  ASSERT_EQ(code_of(aqua_block_pool_get_sequences(list_, named_.data(), 1, &count_)), AQUA_OK);
  EXPECT_EQ(count_, 2U) << "more than there was room for";
  EXPECT_EQ(named_, (std::array<std::uint64_t, 4>{7, 0, 0, 0}));
  ASSERT_EQ(code_of(aqua_block_pool_get_sequences(list_, named_.data(), 4, &count_)), AQUA_OK);
  EXPECT_EQ(count_, 2U);
  EXPECT_EQ(named_, (std::array<std::uint64_t, 4>{7, 8, 0, 0}));
  EXPECT_EQ(code_of(aqua_block_pool_release(list_, 7)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_block_pool_release(list_, 7)), AQUA_NOT_FOUND);
  ASSERT_EQ(code_of(aqua_block_pool_get_sequences(list_, nullptr, 0, &count_)), AQUA_OK);
  EXPECT_EQ(count_, 1U);
  EXPECT_EQ(info().free_blocks, 5U);
}

TEST_F(CapiBlockPool, TheSizeChangesStepByStep) {
  allocate(7, 1);
  allocate(8, 2);
  allocate(7, 2);  // 3, 4
  allocate(9, 1);  // 5
  ASSERT_EQ(resize(4), AQUA_OK);
  ASSERT_EQ(count_, 2U) << "5 blocks would still be one too many";
  EXPECT_EQ(named_[0], 9U);
  EXPECT_EQ(named_[1], 8U);
  EXPECT_EQ(resize(3), AQUA_FAILED_PRECONDITION);
  std::uint32_t block = 0;
  EXPECT_EQ(code_of(aqua_block_pool_allocate(list_, 9, 1, &block)), AQUA_FAILED_PRECONDITION);
  EXPECT_EQ(code_of(aqua_block_pool_layer_ready(list_, 0)), AQUA_FAILED_PRECONDITION);
  for (const std::uint64_t sequence : {8U, 9U})
    ASSERT_EQ(code_of(aqua_block_pool_release(list_, sequence)), AQUA_OK);

  EXPECT_EQ(code_of(aqua_block_pool_take_moves(list_, moves_.data(), 0, &count_)),
            AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_block_pool_moved(list_, 4)), AQUA_NOT_FOUND) << "none was taken";
  ASSERT_EQ(code_of(aqua_block_pool_take_moves(list_, moves_.data(), 4, &count_)), AQUA_OK);
  ASSERT_EQ(count_, 1U);
  EXPECT_EQ(moves_[0].sequence, 7U);
  EXPECT_EQ(moves_[0].from, 4U);
  EXPECT_EQ(moves_[0].to, 1U);
  EXPECT_EQ(info().vacated, 0U);
  ASSERT_EQ(code_of(aqua_block_pool_moved(list_, 4)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_block_pool_layer_ready(list_, 2)), AQUA_INVALID_ARGUMENT);
  ASSERT_EQ(code_of(aqua_block_pool_layer_ready(list_, 1)), AQUA_OK);
  EXPECT_EQ(info().resizing, 1U);
  ASSERT_EQ(code_of(aqua_block_pool_layer_ready(list_, 0)), AQUA_OK);
  EXPECT_EQ(info().resizing, 0U);
  EXPECT_EQ(info().usable_blocks, 4U);
  EXPECT_EQ(info().free_blocks, 1U);
}

TEST_F(CapiBlockPool, WithoutRoomForTheAnswerNothingChanges) {
  allocate(7, 3);
  allocate(8, 3);
  EXPECT_EQ(code_of(aqua_block_pool_resize(list_, 4, named_.data(), 0, &count_)),
            AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(code_of(aqua_block_pool_resize(list_, 4, nullptr, 4, &count_)), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(resize(0), AQUA_INVALID_ARGUMENT);
  EXPECT_EQ(count_, 77U);
  EXPECT_EQ(info().target_blocks, 6U);
  EXPECT_EQ(info().resizing, 0U);
  ASSERT_EQ(resize(4), AQUA_OK);
  EXPECT_EQ(count_, 1U);
  EXPECT_EQ(named_[0], 8U);
}

}  // namespace
}  // namespace aqua::test
