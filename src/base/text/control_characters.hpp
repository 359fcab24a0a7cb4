// SPDX-License-Identifier: Apache-2.0
// Finds characters that command a terminal, a log or a page instead of being shown: those of ASCII
// (C0 and DEL), their 8-bit kin (C1, of which U+009B begins an escape sequence), line and paragraph
// separators, and those that turn the direction of what follows (Unicode, UAX #9), by which a name
// could be read as another.
#pragma once

#include <cstddef>
#include <string_view>

namespace aqua {

// The length in bytes of the control character that begins `text`, in UTF-8; 0 when it begins with
// another character, or is empty.
[[nodiscard]] std::size_t control_length(std::string_view text) noexcept;

// Where the first of `text` begins; npos: it has none.
[[nodiscard]] std::size_t control_in(std::string_view text) noexcept;

}  // namespace aqua
