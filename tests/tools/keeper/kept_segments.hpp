// SPDX-License-Identifier: Apache-2.0
// Segments for tests of a disk tier: memory with bytes that tell themselves from others, and what a
// tier offers again.
//
// Threads: one.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "base/memory/memfd.hpp"
#include "base/xxh3.hpp"
#include "tools/keeper/disk/disk_tier.hpp"
#include "tools/keeper/disk/segment_key.hpp"

namespace aqua::keeper::test {

struct Segment {
  SegmentName name;
  DiskTier::Memory memory;
  std::vector<std::byte> bytes{};
  std::optional<SegmentOrigin> copy_of{};
};

// Bytes that no segment of another name has.
inline std::vector<std::byte> bytes_of_segment(std::uint64_t number, std::uint64_t generation,
                                               std::uint64_t bytes) {
  std::vector<std::byte> all(bytes);
  std::mt19937_64 random(number * 1000 + generation);
  for (std::size_t at = 0; at < all.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t next = random();
    std::memcpy(all.data() + at, &next, std::min(sizeof next, all.size() - at));
  }
  return all;
}
inline std::vector<std::byte> bytes_in(int fd, std::uint64_t bytes) {
  std::vector<std::byte> all(bytes);
  EXPECT_EQ(::pread(fd, all.data(), all.size(), 0), static_cast<ssize_t>(all.size()));
  return all;
}

inline Segment make_segment(std::uint64_t number, std::uint64_t generation, std::uint64_t bytes,
                            bool with_digest = true) {
  Segment one{.name = {.number = number, .generation = generation, .bytes = bytes}, .memory = {}};
  one.bytes = bytes_of_segment(number, generation, bytes);
  if (with_digest) one.name.digest = xxh3_of(one.bytes);
  UniqueFd fd = create_memfd("kept");
  EXPECT_EQ(::pwrite(fd.get(), one.bytes.data(), bytes, 0), static_cast<ssize_t>(bytes));
  one.memory = std::make_shared<const KeptSlab>(KeptSlab{std::move(fd), bytes});
  return one;
}
// Its writer writes other bytes.
inline void overwrite(const Segment& one) {
  const std::vector<std::byte> other(one.bytes.size());
  EXPECT_EQ(::pwrite(one.memory->fd.get(), other.data(), other.size(), 0),
            static_cast<ssize_t>(other.size()));
}

// What a tier has offered, as a keeper would take it.
class Offered {
 public:
  Result<DiskTier::Memory> take(const LoggedSegment& logged, const DiskTier::Fill& fill) {
    const SegmentName& name = logged.name;
    UniqueFd fd = create_memfd("offered");
    if (auto filled = fill(fd.get()); !filled.ok()) return std::move(filled).error();
    auto memory = std::make_shared<const KeptSlab>(KeptSlab{std::move(fd), name.bytes});
    all_[{name.number, name.generation}] = {name, memory, bytes_in(memory->fd.get(), name.bytes),
                                            logged.copy_of};
    return DiskTier::Memory(memory);
  }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  // With this very name, these bytes and this origin.
  [[nodiscard]] bool has(const Segment& one) const {
    const auto found = all_.find({one.name.number, one.name.generation});
    return found != all_.end() && found->second.name == one.name &&
           found->second.bytes == one.bytes && found->second.copy_of == one.copy_of;
  }
  [[nodiscard]] const auto& all() const { return all_; }

 private:
  std::map<std::pair<std::uint64_t, std::uint64_t>, Segment> all_;
};

}  // namespace aqua::keeper::test
