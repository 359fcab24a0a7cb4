// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/decide/replica/pack.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace aqua::kv_stream {
namespace {

constexpr std::size_t kKvEnd = 256;

Pack example() {
  Pack pack{.owner = {"decode", 1, 3, "0f1e"},
            .term = 4,
            .shape = "a model, bf16",
            .token_bytes = 32,
            .entries = {{.sequence = 7,
                         .first = 20,
                         .ids = {5, 6, UINT32_MAX},
                         .offset = 64,
                         .before = 11,
                         .sampler = {23, {std::byte{1}, std::byte{2}}},
                         .sampler_ids = 12},
                        {.sequence = 8, .first = 0, .ids = {1}, .offset = 192}}};
  return pack;
}

std::vector<std::byte> bytes_of(const Pack& pack) {
  std::vector<std::byte> bytes(std::size_t{16} << 10);
  bytes.resize(write_pack(pack, kKvEnd, bytes));
  return bytes;
}

TEST(ReplicaPack, IsReadAsItWasWritten) {
  const Pack pack = example();
  const auto bytes = bytes_of(pack);
  EXPECT_EQ(parse_pack(bytes).value(), pack);
  EXPECT_EQ(bytes.size(), kKvEnd + directory_bytes(pack) + directory_bytes(pack.entries[0]) +
                              directory_bytes(pack.entries[1]))
      << "what was reserved is what is written";
}

TEST(ReplicaPack, OneThatWasCutShortOrChangedAnywhereInItsDirectoryIsRefused) {
  const auto bytes = bytes_of(example());
  const auto refused = [](const std::vector<std::byte>& segment) {
    const auto parsed = parse_pack(segment);
    ASSERT_FALSE(parsed.ok());
    EXPECT_EQ(parsed.error().code, Code::invalid_argument);
  };
  for (std::size_t size = 0; size < bytes.size(); ++size)
    refused({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)});
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (at == 32) at = kKvEnd;  // between head and directory is KV
    auto changed = bytes;
    changed[at] ^= std::byte{1};
    refused(changed);
  }
}

TEST(ReplicaPack, WhatCannotBeIsRefusedThoughItsHashIsRight) {
  const auto refused = [](auto change) {
    Pack pack = example();
    change(pack);
    const auto parsed = parse_pack(bytes_of(pack));
    return !parsed.ok() && parsed.error().code == Code::invalid_argument;
  };
  EXPECT_FALSE(refused([](Pack&) {}));
  EXPECT_TRUE(refused([](Pack& pack) { pack.owner.group = "no.name"; }));
  EXPECT_TRUE(refused([](Pack& pack) { pack.owner.life = "no.id"; }));
  EXPECT_FALSE(refused([](Pack& pack) { pack.owner.life.clear(); }));
  EXPECT_TRUE(refused([](Pack& pack) { pack.token_bytes = 0; }));
  EXPECT_TRUE(refused([](Pack& pack) { pack.token_bytes = UINT64_MAX; }));
  EXPECT_TRUE(refused([](Pack& pack) { pack.shape.assign(kMostShapeBytes + 1, 'x'); }));
  EXPECT_TRUE(refused([](Pack& pack) { pack.entries[0].ids.clear(); }));
  EXPECT_TRUE(refused([](Pack& pack) { pack.entries[0].first = UINT32_MAX - 1; }));
  EXPECT_TRUE(refused([](Pack& pack) { pack.entries[0].offset = 63; })) << "in the head";
  EXPECT_TRUE(refused([](Pack& pack) { pack.entries[0].offset = kKvEnd - 95; }))
      << "into the directory";
  EXPECT_TRUE(refused([](Pack& pack) { pack.entries[1].offset = UINT64_MAX; }));
  EXPECT_TRUE(
      refused([](Pack& pack) { pack.entries[1].sampler.state.resize(kMostSamplerBytes + 1); }));
}

}  // namespace
}  // namespace aqua::kv_stream
