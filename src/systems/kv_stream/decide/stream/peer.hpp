// SPDX-License-Identifier: Apache-2.0
// StreamPeer is another pipeline as one rank sees it: what goes to it and comes from it.
//
// Threads: functions of their arguments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aqua/result.hpp"
#include "systems/kv_stream/decide/stream/routes.hpp"

namespace aqua::kv_stream {

struct StreamPeer {
  std::string name{};
  std::uint64_t agreement_out = 0;  // agreement_of() what is streamed to it ...
  std::uint64_t agreement_in = 0;   // ... and from it
  std::vector<Route> out{}, in{};
};

// The peer that the pipeline of this name is, as rank `rank` of `own` sees it. Errors: as
// check_group() and routes_from().
[[nodiscard]] Result<StreamPeer> peer_of(const KvShards& own, std::uint32_t rank,
                                         const std::string& name, const KvShards& theirs);
// The ranks that send something, of each pipeline.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> sources_of(
    const std::vector<StreamPeer>& peers);

}  // namespace aqua::kv_stream
