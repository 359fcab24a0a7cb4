// SPDX-License-Identifier: Apache-2.0
// A pipeline stage of three microbatches over the C ABI, with two buffers on an emulated GPU.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/capi/capi_fixture.hpp"

namespace aqua::test {

class CapiMicrobatchSwap : public CapiFixture {
 protected:
  static constexpr std::uint32_t kBlocks = 4, kMicrobatches = 3;
  static constexpr std::size_t kBlockBytes = 512;
  static constexpr aqua_stream kNoStream = ~aqua_stream{0};

  explicit CapiMicrobatchSwap(std::uint64_t link_bytes_per_second = 0)
      : CapiFixture(link_bytes_per_second) {
    void* base = nullptr;
    EXPECT_EQ(code_of(aqua_emulated_allocate(runtime_, 4 * kBlocks * kBlockBytes, &memory_, &base)),
              AQUA_OK);
    base_ = static_cast<std::uint8_t*>(base);
    for (std::uint32_t i = 0; i < 2; ++i) buffers_.at(i) = layout_of(i);
  }
  ~CapiMicrobatchSwap() override {
    for (const aqua_layout buffer : buffers_) EXPECT_EQ(code_of(aqua_layout_free(buffer)), AQUA_OK);
    EXPECT_EQ(code_of(aqua_emulated_free(memory_)), AQUA_OK);
  }

  [[nodiscard]] std::uint8_t* keys(std::uint32_t buffer) const {
    return base_ + 2 * buffer * kBlocks * kBlockBytes;
  }
  [[nodiscard]] aqua_microbatch_swap_options options() const {
    aqua_microbatch_swap_options options = AQUA_MICROBATCH_SWAP_OPTIONS_INIT;
    options.buffers = buffers_.data();
    options.buffer_count = buffers_.size();
    options.microbatches = kMicrobatches;
    return options;
  }
  [[nodiscard]] aqua_microbatch_swap create() const {
    const aqua_microbatch_swap_options given = options();
    aqua_microbatch_swap made{};
    EXPECT_EQ(code_of(aqua_microbatch_swap_create(runtime_, &given, &made)), AQUA_OK);
    return made;
  }
  [[nodiscard]] static aqua_microbatch_swap_status status_of(aqua_microbatch_swap swap) {
    aqua_microbatch_swap_status status = AQUA_MICROBATCH_SWAP_STATUS_INIT;
    EXPECT_EQ(code_of(aqua_microbatch_swap_get_status(swap, &status)), AQUA_OK);
    return status;
  }
  // A turn that finds `found` in its first blocks of keys, and writes `stamp` there.
  void turn(aqua_microbatch_swap swap, std::uint32_t microbatch, int found, int stamp) const {
    std::uint32_t buffer = 7;
    ASSERT_EQ(
        code_of(aqua_microbatch_swap_begin_turn(swap, 0, microbatch, AQUA_NEXT_IN_ORDER, &buffer)),
        AQUA_OK);
    ASSERT_LT(buffer, 2U);
    std::vector<std::uint8_t> bytes(2 * kBlockBytes);
    if (found != 0) {
      EXPECT_EQ(code_of(aqua_emulated_read(runtime_, 0, keys(buffer), bytes.data(), bytes.size())),
                AQUA_OK);
      EXPECT_EQ(code_of(aqua_emulated_synchronize(runtime_, 0)), AQUA_OK);
      EXPECT_EQ(bytes, std::vector<std::uint8_t>(bytes.size(), static_cast<std::uint8_t>(found)))
          << "microbatch " << microbatch;
    }
    std::memset(bytes.data(), stamp, bytes.size());
    EXPECT_EQ(code_of(aqua_emulated_write(runtime_, 0, keys(buffer), bytes.data(), bytes.size())),
              AQUA_OK);
    const std::array<std::uint32_t, 2> writes{0, 1};
    std::uint64_t number = 0;
    ASSERT_EQ(code_of(aqua_microbatch_swap_end_turn(swap, writes.data(), writes.size(), &number)),
              AQUA_OK);
    EXPECT_EQ(number, status_of(swap).turns);
  }
  static void leave(aqua_microbatch_swap swap) {
    EXPECT_EQ(code_of(aqua_microbatch_swap_free(swap)), AQUA_OK);
  }

  aqua_emulated_memory memory_{};
  std::uint8_t* base_ = nullptr;
  std::array<aqua_layout, 2> buffers_{};

 private:
  [[nodiscard]] aqua_layout layout_of(std::uint32_t buffer) const {
    aqua_paged_shape shape = AQUA_PAGED_SHAPE_INIT;
    shape.layers = 1;
    shape.block_count = kBlocks;
    shape.tokens_per_block = 4;
    shape.element_bytes = 1;
    void* const own_keys = keys(buffer);
    void* const own_values = keys(buffer) + kBlocks * kBlockBytes;
    aqua_layout layout{};
    EXPECT_EQ(code_of(aqua_layout_create_mha(&shape, 2, kBlockBytes / 8, &own_keys, &own_values,
                                             &layout)),
              AQUA_OK);
    return layout;
  }
};

}  // namespace aqua::test
