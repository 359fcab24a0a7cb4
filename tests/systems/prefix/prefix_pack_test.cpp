// SPDX-License-Identifier: Apache-2.0
#include "systems/prefix/decide/prefix_pack.hpp"

#include <gtest/gtest.h>

namespace aqua::prefix::test {
namespace {

PrefixPack pack_of(std::uint64_t order, std::uint32_t first, std::vector<BlockHash> chain) {
  return {.head = {chain_root("engine"), chain_root("shape"), order},
          .tokens = chain.size() * 8 - 3,
          .first = first,
          .chain = std::move(chain)};
}

std::vector<std::byte> written(const PrefixPack& pack, std::size_t more = 100) {
  std::vector<std::byte> segment(pack_head_bytes(pack.chain.size()) + more, std::byte{7});
  write_pack_head(pack, segment);
  return segment;
}

TEST(PrefixPackHead, IsReadAsItWasWritten) {
  const PrefixPack pack = pack_of(5, 1, {{1, 2}, {3, 4}, {5, 6}});
  const auto segment = written(pack);
  const auto read = parse_pack_head(segment);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, pack);
  EXPECT_EQ(pack_head_bytes(3) % 64, 0U);
  EXPECT_EQ(segment[pack_head_bytes(3)], std::byte{7}) << "nothing behind the head is written";
}

TEST(PrefixPackHead, WithAnyByteChangedIsRefused) {
  const PrefixPack pack = pack_of(5, 0, {{1, 2}, {3, 4}});
  const auto segment = written(pack);
  for (std::size_t i = 0; i < pack_head_bytes(2); ++i) {
    auto changed = segment;
    changed[i] ^= std::byte{0x10};
    EXPECT_EQ(parse_pack_head(changed).error().code, Code::invalid_argument) << i;
  }
}

TEST(PrefixPackHead, ThatIsCutIsRefused) {
  const auto segment = written(pack_of(5, 0, {{1, 2}, {3, 4}}), 0);
  for (std::size_t bytes = 0; bytes < segment.size(); ++bytes) {
    EXPECT_FALSE(parse_pack_head(std::span(segment).first(bytes)).ok()) << bytes;
  }
}

TEST(PrefixPackHead, WithoutABlockIsRefused) {
  EXPECT_FALSE(parse_pack_head(written(pack_of(5, 2, {{1, 2}, {3, 4}}))).ok());
  EXPECT_FALSE(parse_pack_head(written(pack_of(5, 0, {}))).ok());
}

TEST(UsablePacks, AreThoseWhoseBeginningsAreThereInTheOrderOfWriting) {
  const std::vector<PrefixPack> found{
      pack_of(9, 1, {{0, 1}, {0, 3}}),                  // its beginning is in the next one
      pack_of(2, 0, {{0, 1}, {0, 2}}),                  // the root
      pack_of(3, 2, {{0, 1}, {0, 7}, {0, 8}}),          // of which nobody has block 7
      pack_of(4, 3, {{0, 1}, {0, 7}, {0, 8}, {0, 9}}),  // nor this one's
      pack_of(1, 0, {{5, 1}}),                          // another prompt
  };
  EXPECT_EQ(usable_packs(found), (std::vector<std::size_t>{4, 1, 0}));
}

}  // namespace
}  // namespace aqua::prefix::test
