// SPDX-License-Identifier: Apache-2.0
// What the keeper's packets have in common: each is a JSON object, and a refusal is one too.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "base/ids.hpp"
#include "base/keeper/limits.hpp"

namespace aqua {
class JsonObject;
}

namespace aqua::keeper_wire {

// Names come from others' packets and errors: what is no UTF-8 becomes U+FFFD.
[[nodiscard]] std::string dump(const nlohmann::json& json);
// What an error is called; internal for a name that this side does not know.
[[nodiscard]] Code code_named(std::string_view name);
[[nodiscard]] std::string encode_refusal(const Error& error);
// What a packet refuses, if it is a refusal; invalid_argument for one that cannot be.
[[nodiscard]] std::optional<Error> read_refusal(const nlohmann::json& json);

// Numbers that the keeper has given: of copies, of parcels.
[[nodiscard]] std::uint64_t read_number(JsonObject& object, const char* key);
[[nodiscard]] std::uint64_t read_bytes(JsonObject& object, const nlohmann::json& value);
// Under "device".
[[nodiscard]] DeviceUuid read_device(JsonObject& object);
// Reads the sizes of slabs, a list under "bytes".
[[nodiscard]] std::vector<std::uint64_t> read_sizes(JsonObject& object);

}  // namespace aqua::keeper_wire
