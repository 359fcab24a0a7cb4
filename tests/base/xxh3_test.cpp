// SPDX-License-Identifier: Apache-2.0
#include "base/xxh3.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace aqua {
namespace {

TEST(Xxh3, IsTheOneThatIsPublished) {
  EXPECT_EQ(xxh3_of({}), (Xxh3Digest{0x99, 0xaa, 0x06, 0xd3, 0x01, 0x47, 0x98, 0xd8, 0x60, 0x01,
                                     0xc3, 0x24, 0x46, 0x8d, 0x49, 0x7f}))
      << "XXH128 of nothing, as xxhsum -H2 prints it";
}

TEST(Xxh3, IsTheSameOfPiecesAndOfTheWhole) {
  std::mt19937_64 random(1);
  std::vector<std::byte> bytes(100'000);
  for (std::byte& each : bytes) each = static_cast<std::byte>(random());
  for (const std::size_t piece : {1UL, 7UL, 4096UL, 99'999UL}) {
    Xxh3 pieces;
    const std::span<const std::byte> all(bytes);
    for (std::size_t at = 0; at < all.size(); at += piece) {
      pieces.add(all.subspan(at, std::min(piece, all.size() - at)));
    }
    EXPECT_EQ(pieces.value(), xxh3_of(bytes)) << piece;
  }
  const Xxh3Digest before = xxh3_of(bytes);
  bytes[50'000] ^= std::byte{1};
  EXPECT_NE(xxh3_of(bytes), before);
}

}  // namespace
}  // namespace aqua
