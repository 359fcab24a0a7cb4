// SPDX-License-Identifier: Apache-2.0
// The command line of long_context: what people give, and what the main process gives to the
// processes that it starts.
#pragma once

#include <cstdint>
#include <filesystem>

#include "neighbour_role.hpp"
#include "shape.hpp"

namespace aqua::long_context {

struct Options {
  unsigned layers = 32;
  unsigned prompt_tokens = 8192;  // the paper's
  unsigned output_tokens = 64;
  double times = 4;               // the context is so many times the device's memory
  unsigned lent_percent = 75;     // of all layers, the neighbour lends; the rest is in host memory
  unsigned link_mb_per_s = 2000;  // of the emulated link; 0: as fast as the host copies
  unsigned queries = 8;
  unsigned steps = 8;    // in each measurement
  unsigned rounds = 5;   // of measurements
  double at_most = 0;    // total time over the longer of the two; 0: nothing is demanded
  bool reclaim = false;  // also show a reclaim
  bool flip = false;     // damage one byte, to see that it is noticed
  std::filesystem::path json{};
  example::NeighbourRole role{};

  [[nodiscard]] Shape shape() const { return {layers, prompt_tokens, output_tokens}; }
  [[nodiscard]] std::size_t device_bytes() const;  // whole slabs
  // That the device has room for; fewer than layers.
  [[nodiscard]] std::uint32_t frames() const {
    return static_cast<std::uint32_t>(device_bytes() / shape().frame_bytes());
  }
};

// The line that fills `options`, which must outlive it.
[[nodiscard]] CommandLine options_line(Options& options);
// Throws Failure naming the arguments where the parts do not fit.
void check_options(const Options& options);

}  // namespace aqua::long_context
