// SPDX-License-Identifier: Apache-2.0
#include "layer_pool_bench/layer_work.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

#include "aqua/emulated.hpp"
#include "samples.hpp"

namespace aqua::bench {
namespace {

using Clock = std::chrono::steady_clock;

// The first word of a block with this stamp. Each later word is that plus its own offset.
std::uint64_t first_word(std::uint64_t stamp, std::uint32_t layer, std::size_t plane) {
  return ((stamp * 257 + layer) * 7 + plane) * 0x9e3779b97f4a7c15u;
}

std::uint64_t wrong_words(const std::byte* block, std::uint64_t first, std::size_t from,
                          std::size_t to) {
  std::uint64_t wrong = 0;
  for (std::size_t at = from; at < to; at += sizeof first) {
    std::uint64_t found = 0;
    std::memcpy(&found, block + at, sizeof found);
    wrong += found != first + at ? 1U : 0U;
  }
  return wrong;
}

void write_block(std::byte* block, std::uint64_t first, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += sizeof first) {
    const std::uint64_t word = first + at;
    std::memcpy(block + at, &word, sizeof word);
  }
}

std::chrono::nanoseconds measure_wake_delay() {
  std::vector<double> late;
  for (int i = 0; i < 33; ++i) {
    const auto until = Clock::now() + std::chrono::milliseconds(2);
    std::this_thread::sleep_until(until);
    late.push_back(std::chrono::duration<double, std::nano>(Clock::now() - until).count());
  }
  return std::chrono::nanoseconds(static_cast<std::chrono::nanoseconds::rep>(median(late)));
}

}  // namespace

std::uint32_t stamp_of(std::uint32_t step, std::uint32_t block) {
  return step * 4096 + block;
}

std::uint64_t run_layer(const LayerWork& work, std::uint32_t layer,
                        std::span<std::byte* const> planes) {
  const auto until = Clock::now() + std::max(work.compute - wake_delay(), {});
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  std::uint64_t wrong = 0;
  for (std::size_t p = 0; p < planes.size(); ++p) {
    std::byte* const base = emulated::kernel_view(planes[p]);
    for (std::size_t i = 0; i < work.reads.size(); ++i) {
      const std::byte* const block = base + work.reads[i] * work.block_bytes;
      const std::uint64_t first = first_word(work.stamps[i], layer, p);
      const std::size_t end = work.block_bytes;
      wrong += work.every_word ? wrong_words(block, first, 0, end)
                               : wrong_words(block, first, 0, kWord) +
                                     wrong_words(block, first, end - kWord, end);
    }
    for (const std::uint32_t b : work.writes) {
      write_block(base + b * work.block_bytes, first_word(stamp_of(work.step, b), layer, p),
                  work.block_bytes);
    }
  }
  std::this_thread::sleep_until(until);
  return wrong;
}

std::chrono::nanoseconds wake_delay() {
  static const std::chrono::nanoseconds delay = measure_wake_delay();
  return delay;
}

}  // namespace aqua::bench
