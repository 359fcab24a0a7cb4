// SPDX-License-Identifier: Apache-2.0
#include "coordinator/api/openapi.hpp"

#include "openapi_file.hpp"

namespace aqua::coordinator {

std::string_view openapi_document() {
  return document::openapi_json;
}

}  // namespace aqua::coordinator
