// SPDX-License-Identifier: Apache-2.0
// What it costs prefill to stream its KV, and what each optimisation of DéjàVu's (4.1, 5.3) brings:
// prompts of 8 MiB over 16 layers, whose kernels wait for as long as a GPU's would compute, from
// one emulated GPU to another by a Streamer over a keeper's segments. In alternation:
//
//   nothing is streamed; layer by layer behind the kernels; all layers behind the last kernel
//   of KV that is ready: a copy of all pieces of a layer; a copy for each block of it
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace aqua::bench {

// `keeper` is the daemon's socket.
[[nodiscard]] nlohmann::json measure_streams(const std::string& keeper, unsigned rounds);

}  // namespace aqua::bench
