// SPDX-License-Identifier: Apache-2.0
// A GPU as far as the copy loops see it: lanes, run one after the other, and the bulk copy
// hardware, which completes as early or as late as it may. Counts every byte written.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "kernels/copy_geometry.hpp"
#include "kernels/copy_piece.hpp"
#include "kernels/copy_ring.hpp"
#include "kernels/copy_shape.hpp"

namespace aqua::kernels {

// Memory that is written: how often, byte by byte.
class Target {
 public:
  Target(std::byte* base, std::uint64_t bytes) : base_(base), writes_(bytes) {}
  void write(std::byte* at, const void* from, std::uint64_t bytes) {
    ASSERT_TRUE(at >= base_ && at + bytes <= base_ + writes_.size()) << "outside of the target";
    std::memcpy(at, from, bytes);
    for (std::uint64_t i = 0; i < bytes; ++i) ++writes_[static_cast<std::uint64_t>(at - base_) + i];
  }
  [[nodiscard]] const std::vector<std::uint8_t>& writes() const { return writes_; }

 private:
  std::byte* base_;
  std::vector<std::uint8_t> writes_;
};

class CpuLane {
 public:
  CpuLane(unsigned index, Target& target) : index_(index), target_(&target) {}
  [[nodiscard]] unsigned index() const { return index_; }
  void converge() const {}
  template <typename Word>
  [[nodiscard]] Word read(const Word* entry) const {
    return *entry;
  }
  template <typename Word>
  [[nodiscard]] Word load(const Word* p) const {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % sizeof(Word), 0U);
    return *p;
  }
  template <typename Word>
  void store(Word* p, Word word) const {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % sizeof(Word), 0U);
    target_->write(reinterpret_cast<std::byte*>(p), &word, sizeof word);
  }

 private:
  unsigned index_;
  Target* target_;
};

// The copy hardware of one warp.
struct Eagerness {
  bool loads;   // a load arrives at once; otherwise when it is waited for
  bool stores;  // a store reads its stage at once; otherwise when it must have
};

class CpuEngine {
 public:
  CpuEngine(RingMemory& memory, Target& target, Eagerness eager)
      : memory_(memory), target_(target), eager_(eager) {}
  ~CpuEngine() { EXPECT_TRUE(stores_.empty()) << "left before its stores had completed"; }
  CpuEngine(const CpuEngine&) = delete;
  CpuEngine& operator=(const CpuEngine&) = delete;

  void load(unsigned slot, const std::byte* src, std::uint32_t bytes) {
    expect_suitable(src, bytes);
    EXPECT_EQ(sources_[slot], nullptr) << "a stage is loaded twice";
    sources_[slot] = src;
    sizes_[slot] = bytes;
    std::memset(memory_.stage[slot], 0xee, kStageBytes);  // what was there is gone
    if (eager_.loads) arrive(slot);
  }
  void wait_loaded(unsigned slot, unsigned parity) {
    EXPECT_EQ(uses_[slot]++ % 2, parity);
    EXPECT_NE(sources_[slot], nullptr) << "waits for ever";
    if (!eager_.loads) arrive(slot);
    sources_[slot] = nullptr;
  }
  void store(std::byte* dst, unsigned slot, std::uint32_t bytes) {
    expect_suitable(dst, bytes);
    stores_.push_back({dst, slot, bytes});
    if (eager_.stores) read_all_but(0);
  }
  template <unsigned kPending>
  void wait_read() {
    read_all_but(kPending);
  }
  void wait_stored() { read_all_but(0); }

 private:
  struct Store {
    std::byte* dst;
    unsigned slot;
    std::uint32_t bytes;
  };
  static void expect_suitable(const std::byte* address, std::uint32_t bytes) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(address) % 16, 0U);
    EXPECT_TRUE(bytes % 16 == 0 && bytes > 0 && bytes <= kStageBytes) << bytes;
  }
  void arrive(unsigned slot) { std::memcpy(memory_.stage[slot], sources_[slot], sizes_[slot]); }
  void read_all_but(std::size_t pending) {
    for (; stores_.size() > pending; stores_.pop_front()) {
      target_.write(stores_.front().dst, memory_.stage[stores_.front().slot],
                    stores_.front().bytes);
    }
  }

  RingMemory& memory_;
  Target& target_;
  Eagerness eager_;
  const std::byte* sources_[kStages] = {};
  std::uint32_t sizes_[kStages] = {};
  unsigned uses_[kStages] = {};
  std::deque<Store> stores_;
};

// As vector_kernel and bulk_kernel do, every lane of every warp in turn.
template <typename Plan>
void run_vector(const Plan& plan, const Shape& shape, Target& target) {
  for (std::uint64_t warp = 0; warp < std::uint64_t{shape.ctas} * shape.warps; ++warp) {
    for (unsigned index = 0; index < kLanes; ++index) {
      const CpuLane lane(index, target);
      auto walk = walk_of(lane, plan, warp);
      for (Piece piece{}; walk.next(piece);) copy_piece(lane, piece);
    }
  }
}

template <typename Plan>
void run_bulk(const Plan& plan, const Shape& shape, Target& target, Eagerness eager) {
  const auto memory = std::make_unique<RingMemory>();
  for (std::uint64_t warp = 0; warp < std::uint64_t{shape.ctas} * shape.warps; ++warp) {
    for (unsigned index = 0; index < kLanes; ++index) {
      const CpuLane lane(index, target);
      CpuEngine engine(*memory, target, eager);
      Ring<CpuEngine> ring(engine, *memory);
      auto walk = walk_of(lane, plan, warp);
      for (Piece piece{}; walk.next(piece);) copy_piece_bulk(lane, ring, piece);
      if (index == 0) ring.finish();
    }
  }
}

}  // namespace aqua::kernels
