// SPDX-License-Identifier: Apache-2.0
#include "check.hpp"

#include "must.hpp"

namespace aqua::example {

void launch_writes(Runtime& runtime, Stream stream, const CacheGeometry& cache,
                   std::vector<Writing> writings) {
  if (writings.empty()) return;
  auto kernel = [&cache, writings = std::move(writings)] {
    for (const Writing& w : writings) write_stamps(cache, w.sequence.view(), w.first, w.last);
  };
  must(emulated::launch(runtime, stream, std::move(kernel)), "launch");
}

void launch_check(Runtime& runtime, Stream stream, const CacheGeometry& cache, CheckOrder order) {
  auto kernel = [&cache, order = std::move(order)] {
    const SequenceCopy& sequence = order.sequence;
    order.check->bytes = sequence.blocks.size() * cache.block_bytes() * cache.planes.size();
    order.check->mismatched_bytes = count_mismatches(cache, sequence.view());
    order.check->done.store(true, std::memory_order_release);
  };
  must(emulated::launch(runtime, stream, std::move(kernel)), "launch");
}

}  // namespace aqua::example
