// SPDX-License-Identifier: Apache-2.0
// Kernels that write and check sequences' stamps. A launch copies what it needs to know of
// the sequence; the cache must outlive the stream's work.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "aqua/emulated.hpp"
#include "stamps.hpp"

namespace aqua::example {

// The outcome of one check. Readable once done is true.
struct Check {
  std::size_t bytes = 0;
  std::size_t mismatched_bytes = 0;
  std::atomic<bool> done{false};
};

// A SequenceView that owns its list of blocks, for kernels that run later.
struct SequenceCopy {
  std::uint32_t tenant = 0;
  std::uint64_t sequence = 0;
  std::uint32_t tokens = 0;
  std::vector<std::uint32_t> blocks{};
  [[nodiscard]] SequenceView view() const { return {tenant, sequence, tokens, blocks}; }
};

struct Writing {
  SequenceCopy sequence;
  std::uint32_t first = 0, last = 0;  // positions; see write_stamps()
};

// A comparison to come, behind other kernels.
struct CheckOrder {
  SequenceCopy sequence;
  std::shared_ptr<Check> check = std::make_shared<Check>();
};

void launch_writes(Runtime& runtime, Stream stream, const CacheGeometry& cache,
                   std::vector<Writing> writings);
void launch_check(Runtime& runtime, Stream stream, const CacheGeometry& cache, CheckOrder order);

}  // namespace aqua::example
