// SPDX-License-Identifier: Apache-2.0
// The API's own description, OpenAPI 3.1: coordinator/api/openapi.json, built in.
#pragma once

#include <string_view>

namespace aqua::coordinator {

[[nodiscard]] std::string_view openapi_document();

}  // namespace aqua::coordinator
