// SPDX-License-Identifier: Apache-2.0
// Names of segments, and what a disk tier says of itself, in the keeper's packets.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "aqua/handoff/segment.hpp"
#include "aqua/result.hpp"

namespace aqua {
class JsonObject;
}

namespace aqua::segment_wire {

// What a name takes of a packet at most.
inline constexpr std::size_t kNameBytes = 160;

[[nodiscard]] nlohmann::json json_of(const SegmentName& name);
[[nodiscard]] nlohmann::json json_of(const SegmentDisk& disk);
[[nodiscard]] Result<SegmentDisk> read_disk(const nlohmann::json& json);
[[nodiscard]] SegmentName read_name(JsonObject& object);
[[nodiscard]] nlohmann::json json_of(const SegmentOrigin& origin);
// Under "copy_of"; nullopt: there is none.
[[nodiscard]] std::optional<SegmentOrigin> read_origin(JsonObject& object);
// Under "digest".
[[nodiscard]] SegmentDigest read_digest(JsonObject& object);
// Under a key, 0 to 2^48.
[[nodiscard]] std::uint64_t read_size(JsonObject& object, const char* key);

}  // namespace aqua::segment_wire
