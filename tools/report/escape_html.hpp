// SPDX-License-Identifier: Apache-2.0
// Escapes text for HTML and SVG, so that it can end neither an element nor an attribute.
#pragma once

#include <string>
#include <string_view>

namespace aqua::report {

[[nodiscard]] std::string escape_html(std::string_view text);

}  // namespace aqua::report
