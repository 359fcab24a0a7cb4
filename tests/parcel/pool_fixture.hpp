// SPDX-License-Identifier: Apache-2.0
// A pool's record with members of two roles.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "parcel/pool_book.hpp"
#include "tests/base/code_of.hpp"

namespace aqua::test {

inline constexpr MemberNumber kPrefill = 1, kDecode = 2, kOther = 3;

// Eight blocks of four tokens; one member that prefills, and two that decode.
class WithPool : public ::testing::Test {
 protected:
  WithPool() {
    EXPECT_TRUE(book_.join(kPrefill, "prefill").ok());
    EXPECT_TRUE(book_.join(kDecode, "decode").ok());
    EXPECT_TRUE(book_.join(kOther, "decode").ok());
  }
  // Blocks of the first, handed over to the others under a turn that is higher each time.
  std::uint64_t offer(const std::string& id, const Blocks& blocks) {
    return offer(id, blocks, turn_ += 10);
  }
  std::uint64_t offer(const std::string& id, const Blocks& blocks, std::uint64_t turn) {
    return book_.offer(kPrefill, "decode", {.id = id, .turn = turn, .blocks = blocks}).value();
  }
  Blocks grant(MemberNumber member, std::uint32_t count) {
    return book_.grant(member, count).value();
  }
  std::vector<Parcel> accept(MemberNumber member) { return book_.accept(member, 9).value(); }

  std::uint64_t turn_ = 0;
  PoolBook book_{8, 4};
};

}  // namespace aqua::test
