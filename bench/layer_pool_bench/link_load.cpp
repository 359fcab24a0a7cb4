// SPDX-License-Identifier: Apache-2.0
#include "layer_pool_bench/link_load.hpp"

#include <numeric>
#include <vector>

#include "must.hpp"

namespace aqua::bench {
namespace {

constexpr std::size_t kBlock = 64 << 10;

}  // namespace

LinkLoad::LinkLoad(Runtime& runtime, std::size_t most_piece_bytes)
    : runtime_(runtime),
      stream_(must(emulated::create_stream(runtime), "stream")),
      memory_(must(emulated::allocate(runtime, most_piece_bytes), "memory")),
      source_(must(runtime.allocate({.bytes = most_piece_bytes, .host_only = true}), "allocate")) {}

LinkLoad::~LinkLoad() {
  stop();
  must(emulated::destroy_stream(runtime_, stream_), "destroy stream");
}

void LinkLoad::start(std::size_t piece_bytes) {
  stop();
  thread_ = std::jthread([this, piece_bytes](const std::stop_token& stopped) {
    const auto count = static_cast<std::uint32_t>(piece_bytes / kBlock);
    std::vector<std::uint32_t> blocks(count);
    std::iota(blocks.begin(), blocks.end(), 0U);
    const Layout layout = must(Layout::make({.layers = 1,
                                             .planes_per_layer = 1,
                                             .planes = {memory_.data()},
                                             .block_count = count,
                                             .block_stride = kBlock,
                                             .axes = BlockAxes::whole(kBlock)}),
                               "layout");
    while (!stopped.stop_requested()) {
      Ticket copy = must(runtime_.fetch(source_, layout, blocks, stream_), "fetch");
      must(copy.wait(), "wait");
    }
  });
}

void LinkLoad::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

}  // namespace aqua::bench
