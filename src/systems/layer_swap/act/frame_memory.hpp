// SPDX-License-Identifier: Apache-2.0
// FrameMemory is the device memory of a LayerPool: how many frames it makes, which slabs lie in the
// planes of which layer, and which layers stream. It copies nothing.
//
// Under `fixed` each layer has addresses of its own, in which the slabs of its frame lie. Under
// `fifo` each frame has, and a layer is where the schedule's mapping table says.
//
// Threads: one at a time. Owns: memory and addresses. Units: bytes; blocks of one layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aqua/layer_swap/layer_pool.hpp"
#include "aqua/layout.hpp"
#include "aqua/plane_memory.hpp"
#include "systems/layer_swap/act/frame_places.hpp"
#include "systems/layer_swap/decide/layer_schedule.hpp"

namespace aqua::layer_swap {

class FrameMemory {
 public:
  // What a number of frames makes of the memory.
  struct Shape {
    std::uint32_t frames = 0;
    std::uint32_t blocks = 0;
    RingPlan plan{};
    std::unique_ptr<LayerSchedule> schedule{};
    PlaneMemory::Places places{};
    std::vector<bool> streamed{};   // by layer; the others stay
    std::vector<Layout> layouts{};  // of the planes of each layer, or of each frame
  };

  // Takes the memory and maps nothing. invalid_argument names the option; resource_exhausted: the
  // device has less.
  [[nodiscard]] static Result<FrameMemory> create(Runtime& runtime,
                                                  const LayerPoolOptions& options);

  // The shape of so many frames, in which layers that stay keep their slabs. invalid_argument: not
  // possible.
  [[nodiscard]] Result<Shape> shape_of(std::uint32_t frames) const;
  // Maps the shape's slabs, once nothing uses addresses that change. Errors: PlaneMemory::map().
  [[nodiscard]] Result<void> map(const Shape& shape) { return memory_.map(shape.places); }
  // From now on the shape is that of this memory, which is mapped so.
  void take(Shape shape) { shape_ = std::move(shape); }
  // failed_precondition: an earlier change could not be undone, and nobody can say what is mapped.
  [[nodiscard]] Result<void> check_whole() { return memory_.map(shape_.places); }

  // --- the shape there is -----------------------------------------------------------------------
  [[nodiscard]] std::uint32_t frames() const noexcept { return shape_.frames; }
  [[nodiscard]] std::uint32_t blocks() const noexcept { return shape_.blocks; }
  [[nodiscard]] LayerSchedule& schedule() const noexcept { return *shape_.schedule; }
  // The layout of a layer that is not away.
  [[nodiscard]] const Layout& layout(std::uint32_t layer) const {
    return shape_.layouts[by_table_ ? frame_of(layer) : layer];
  }
  [[nodiscard]] FrameIndex frame_of(std::uint32_t layer) const {
    return shape_.schedule->frame_of(layer).value();
  }
  [[nodiscard]] const PlaneMemory::Places& places() const noexcept { return shape_.places; }
  [[nodiscard]] const std::vector<bool>& streamed() const noexcept { return shape_.streamed; }
  // Whether each usable block is in `blocks`. invalid_argument: one is not usable or listed twice;
  // the error names it, and `list` of `call`.
  [[nodiscard]] Result<std::vector<bool>> check(const char* call, const char* list,
                                                BlockList blocks) const;
  // Whether layers go from frame to frame, and what the host sees complete says when.
  [[nodiscard]] bool frames_change() const noexcept {
    return by_table_ && shape_.frames < frame_shape_.layers;
  }
  // Where a layer is now: none of one that is away.
  [[nodiscard]] std::span<std::byte* const> planes(std::uint32_t layer) const;

  // --- whatever the shape -----------------------------------------------------------------------
  // What so many frames hold; 0 where they are not possible.
  [[nodiscard]] std::uint32_t usable_blocks(std::uint32_t frames) const noexcept;
  // How many lent slabs would have to come back for so many frames.
  [[nodiscard]] std::size_t slabs_missing(std::uint32_t frames) const;
  // Lends what no frame has, where fewer frames hold the same blocks.
  void lend_unused();

 private:
  FrameMemory(const LayerPoolOptions& options, const FrameShape& frame_shape, PlaneMemory memory);
  [[nodiscard]] PlaneMemory::Places places_of(const Shape& shape) const;

  std::size_t block_bytes_, slab_bytes_;
  std::string schedule_;  // its name
  bool by_table_;         // the schedule says where a layer is; else each has its own addresses
  FrameShape frame_shape_;
  PlaneMemory memory_;
  std::vector<std::vector<std::byte*>> planes_;  // by layer, or by frame
  Shape shape_;
};

}  // namespace aqua::layer_swap
