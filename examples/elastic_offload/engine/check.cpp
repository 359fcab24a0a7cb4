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

std::shared_ptr<Check> launch_check(Runtime& runtime, Stream stream, const CacheGeometry& cache,
                                    SequenceCopy sequence) {
  auto check = std::make_shared<Check>();
  auto kernel = [&cache, check, sequence = std::move(sequence)] {
    check->bytes = sequence.blocks.size() * cache.block_bytes() * cache.planes.size();
    check->mismatched_bytes = count_mismatches(cache, sequence.view());
    check->done.store(true, std::memory_order_release);
  };
  must(emulated::launch(runtime, stream, std::move(kernel)), "launch");
  return check;
}

}  // namespace aqua::example
