// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/act/check_options.hpp"

#include "aqua/kv_stream/swap.hpp"
#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::kv_stream {
namespace {

constexpr std::uint32_t kMostMicrobatches = 1024;

Error wrong(const std::string& what) {
  return Error{Code::invalid_argument, concat("microbatch swap: ", what)};
}

bool alike(const LayoutSpec& a, const LayoutSpec& b) {
  return a.layers == b.layers && a.planes_per_layer == b.planes_per_layer &&
         a.block_count == b.block_count && a.block_stride == b.block_stride && a.axes == b.axes;
}

}  // namespace

Result<void> check(const MicrobatchSwapOptions& options) {
  if (options.microbatches < 2 || options.microbatches > kMostMicrobatches)
    return wrong(concat(options.microbatches, " microbatches: 2 to ", kMostMicrobatches));
  const std::uint32_t buffers = swap_buffers(options.microbatches);
  if (options.buffers.size() != buffers) {
    return wrong(concat(options.buffers.size(), " buffers: ", buffers, " for ",
                        options.microbatches, " microbatches"));
  }
  if (buffers == 1) return {};
  LayoutSpec both = options.buffers[0].spec();
  const LayoutSpec& other = options.buffers[1].spec();
  if (!alike(both, other)) return wrong("buffers 0 and 1 differ in more than their addresses");
  both.layers *= 2;
  both.planes.insert(both.planes.end(), other.planes.begin(), other.planes.end());
  if (Layout::make(both).ok()) return {};
  return wrong("buffers 0 and 1 have bytes in common");
}

}  // namespace aqua::kv_stream
