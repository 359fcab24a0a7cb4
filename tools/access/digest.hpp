// SPDX-License-Identifier: Apache-2.0
// SHA-256, so that secrets are looked for by what tells nothing of them, and tokens are kept
// as what cannot be turned back.
//
// Threads: free functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text/hex.hpp"

namespace aqua::access {

using Digest = std::array<std::uint8_t, 32>;

[[nodiscard]] Digest digest_of(std::string_view bytes);
// Takes the same time whatever the two are.
[[nodiscard]] bool same_digest(const Digest& a, const Digest& b) noexcept;

// Parses what to_hex() makes of a digest, 64 digits; nullopt for anything else.
[[nodiscard]] std::optional<Digest> parse_digest(std::string_view text);

}  // namespace aqua::access
