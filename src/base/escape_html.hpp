// SPDX-License-Identifier: Apache-2.0
// Text in a page or a picture: it cannot end an element or an attribute.
#pragma once

#include <string>
#include <string_view>

namespace aqua {

[[nodiscard]] std::string escape_html(std::string_view text);

}  // namespace aqua
