// SPDX-License-Identifier: Apache-2.0
#include "layer_pool_bench/scenes.hpp"

namespace aqua::bench {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

std::vector<Scene> scenes(const Effort& effort) {
  constexpr std::size_t kBlock = 64 << 10;  // 16 tokens of 4 KiB
  std::vector<Scene> all{{{.name = "8 layers, fast link",
                           .layers = 8,
                           .block_bytes = kBlock,
                           .slabs = 2,
                           .layer_time = microseconds(12'000)},
                          1.0e9},
                         {{.name = "12 layers",
                           .layers = 12,
                           .block_bytes = kBlock,
                           .slabs = 3,
                           .layer_time = microseconds(8'000)},
                          1.2e9},
                         {{.name = "12 layers, longer with more blocks",
                           .layers = 12,
                           .block_bytes = kBlock,
                           .slabs = 3,
                           .layer_time = microseconds(4'000),
                           .block_time = nanoseconds(21'000)},
                          1.2e9},
                         {{.name = "16 layers, slow link",
                           .layers = 16,
                           .block_bytes = kBlock,
                           .slabs = 2,
                           .layer_time = microseconds(5'000)},
                          0.7e9}};
  for (Scene& scene : all) {
    scene.shape.layer_time = effort.paced(scene.shape.layer_time);
    scene.shape.block_time = effort.paced(scene.shape.block_time);
    scene.link_bytes_per_second = effort.paced_rate(scene.link_bytes_per_second);
  }
  return all;
}

}  // namespace aqua::bench
