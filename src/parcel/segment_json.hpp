// SPDX-License-Identifier: Apache-2.0
// Names of segments in the keeper's packets.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "aqua/handoff/segment.hpp"

namespace aqua {
class JsonObject;
}

namespace aqua::segment_wire {

// What a name takes of a packet at most.
inline constexpr std::size_t kNameBytes = 160;

[[nodiscard]] nlohmann::json json_of(const SegmentName& name);
[[nodiscard]] SegmentName read_name(JsonObject& object);
// Under "digest".
[[nodiscard]] SegmentDigest read_digest(JsonObject& object);
// Under a key, 0 to 2^48.
[[nodiscard]] std::uint64_t read_size(JsonObject& object, const char* key);

}  // namespace aqua::segment_wire
