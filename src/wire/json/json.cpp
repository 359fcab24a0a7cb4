// SPDX-License-Identifier: Apache-2.0
#include "wire/json/json.hpp"

#include "base/concat.hpp"
#include "wire/limits.hpp"

namespace aqua::wire {
namespace {

// Looked at before parsing, so that a deep body costs nothing and overflows no stack.
std::size_t depth_of(std::string_view body) {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const char c = body[i];
    if (in_text) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_text = false;
      }
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

}  // namespace

Result<Json> parse_object(std::string_view body, std::size_t max_bytes) {
  if (body.size() > max_bytes) {
    return Error{Code::invalid_argument,
                 concat("body: ", body.size(), " bytes, at most ", max_bytes)};
  }
  if (const std::size_t depth = depth_of(body); depth > kMaxDepth) {
    return Error{Code::invalid_argument,
                 concat("body: nested ", depth, " deep, at most ", kMaxDepth)};
  }
  Json value = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) return Error{Code::invalid_argument, "body: not JSON in UTF-8"};
  if (!value.is_object()) return Error{Code::invalid_argument, "body: not a JSON object"};
  return value;
}

std::string dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace aqua::wire
