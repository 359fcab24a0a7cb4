// SPDX-License-Identifier: Apache-2.0
// Bytes as text of the alphabet of RFC 4648, section 4, with padding: as Protocol Buffers have them
// in JSON.
//
// Threads: plain functions. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace aqua::coordinator::etcd {

[[nodiscard]] std::string to_base64(std::string_view bytes);
// nullopt for what is none.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace aqua::coordinator::etcd
