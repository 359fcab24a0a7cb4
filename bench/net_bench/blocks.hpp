// SPDX-License-Identifier: Apache-2.0
// What it costs that KV lies in blocks: 64 MiB in scattered blocks of 16 KiB, and the same bytes as
// one large buffer, each gathered from the cache of an emulated GPU, carried by couriers to another
// server's keeper, and scattered into the cache of another emulated GPU.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace aqua::bench {

inline constexpr const char* kBlocksPool = "blocks";
inline constexpr const char* kWholePool = "whole";

// Between two keepers, named by their sockets. Couriers carry what "prefill" gives to "decode" in
// both pools. Before and after it this process has no threads of its own.
[[nodiscard]] nlohmann::json measure_blocks(const std::string& from, const std::string& to,
                                            unsigned rounds);

}  // namespace aqua::bench
