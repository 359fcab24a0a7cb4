// SPDX-License-Identifier: Apache-2.0
// An engine's own cache on an emulated GPU whose addresses no host thread can follow, with blocks
// of 16 KiB, each of whose words says whose it is; and its stream.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/layout.hpp"
#include "aqua/runtime.hpp"
#include "tests/base/must.hpp"
#include "tests/base/open_emulated.hpp"

namespace aqua::test {

class StampedCache {
 public:
  static constexpr std::uint32_t kBlocks = 64;
  static constexpr std::size_t kPlaneBlockBytes = 4096;

  // A runtime for caches.
  [[nodiscard]] static Runtime open_runtime() { return open_emulated(32 << 20, 2 << 20, true); }

  explicit StampedCache(unsigned layers = 2) : StampedCache(open_runtime(), layers) {}
  // Over a runtime that others share.
  explicit StampedCache(Runtime runtime, unsigned layers = 2)
      : runtime_(std::move(runtime)),
        memory_(emulated::allocate(runtime_, layers * 2 * kBlocks * kPlaneBlockBytes).value()),
        stream_(emulated::create_stream(runtime_).value()),
        layout_(Layout::make(spec(layers, memory_.data())).value()) {}
  ~StampedCache() { (void)emulated::destroy_stream(runtime_, stream_); }
  StampedCache(const StampedCache&) = delete;
  StampedCache& operator=(const StampedCache&) = delete;

  [[nodiscard]] Runtime& runtime() { return runtime_; }
  [[nodiscard]] Stream stream() const { return stream_; }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] static std::vector<std::uint32_t> blocks(std::size_t count, std::uint32_t from = 0,
                                                         std::uint32_t step = 1) {
    std::vector<std::uint32_t> list;
    for (std::size_t i = 0; i < count; ++i) {
      list.push_back((from + static_cast<std::uint32_t>(i) * step) % kBlocks);
    }
    return list;
  }

  // Posts a kernel that stamps the blocks, in their order.
  void stamp(const std::vector<std::uint32_t>& blocks, std::uint64_t stamp) {
    launch([=, this] {
      each_word(blocks, stamp, [](std::uint64_t& word, std::uint64_t value) { word = value; });
    });
  }
  // Waits for the stream; whether every word of the blocks says so.
  [[nodiscard]] bool stamped(const std::vector<std::uint32_t>& blocks, std::uint64_t stamp) {
    bool right = true;
    launch([&, this] {
      each_word(blocks, stamp,
                [&](std::uint64_t& word, std::uint64_t value) { right = right && word == value; });
    });
    must(emulated::synchronize(runtime_, stream_));
    return right;
  }
  // The same of one layer, whose bytes are to be those of another one.
  [[nodiscard]] bool stamped(const std::vector<std::uint32_t>& blocks, std::uint64_t stamp,
                             std::uint32_t layer, std::uint32_t as_layer) {
    bool right = true;
    launch([&, this] {
      for (std::size_t p = 0; p < 2; ++p) {
        each_word_of(std::size_t{layer} * 2 + p, std::size_t{as_layer} * 2 + p, blocks, stamp,
                     [&](std::uint64_t& word, std::uint64_t value) { right &= word == value; });
      }
    });
    must(emulated::synchronize(runtime_, stream_));
    return right;
  }
  void launch(std::function<void()> kernel) {
    must(emulated::launch(runtime_, stream_, std::move(kernel)));
  }

 private:
  static LayoutSpec spec(unsigned layers, std::byte* base) {
    LayoutSpec spec{.layers = layers,
                    .planes_per_layer = 2,
                    .planes = {},
                    .block_count = kBlocks,
                    .block_stride = kPlaneBlockBytes,
                    .axes = BlockAxes::whole(kPlaneBlockBytes)};
    for (std::size_t p = 0; p < std::size_t{layers} * 2; ++p) {
      spec.planes.push_back(base + p * kBlocks * kPlaneBlockBytes);
    }
    return spec;
  }
  // On the device.
  template <typename Do>
  void each_word(const std::vector<std::uint32_t>& blocks, std::uint64_t stamp,
                 const Do& act) const {
    for (std::size_t p = 0; p < layout_.spec().planes.size(); ++p) {
      each_word_of(p, p, blocks, stamp, act);
    }
  }
  template <typename Do>
  void each_word_of(std::size_t plane, std::size_t as_plane,
                    const std::vector<std::uint32_t>& blocks, std::uint64_t stamp,
                    const Do& act) const {
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      auto* const words = reinterpret_cast<std::uint64_t*>(
          emulated::kernel_view(layout_.spec().planes[plane] + blocks[b] * kPlaneBlockBytes));
      for (std::size_t i = 0; i < kPlaneBlockBytes / 8; ++i) {
        act(words[i], (stamp + as_plane * 1'000'003 + b * 65'537 + i) * 0x9e3779b97f4a7c15ULL);
      }
    }
  }

  Runtime runtime_;
  emulated::Memory memory_;
  Stream stream_;
  Layout layout_;
};

}  // namespace aqua::test
