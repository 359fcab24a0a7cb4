// SPDX-License-Identifier: Apache-2.0
#include "wire/json/fields.hpp"

#include "base/text/control_characters.hpp"

namespace aqua::wire {
namespace {

const Json& null_value() {
  static const Json value;
  return value;
}
const Json& empty_array() {
  static const Json value = Json::array();
  return value;
}

}  // namespace

Fields::Fields(const Json& value, const std::string& path, Fault& fault)
    : value_(value), path_(path), fault_(fault) {
  if (!fault_ && !value_.is_object()) {
    fault_ =
        Error{Code::invalid_argument, concat(path_.empty() ? "body" : path_, ": is not an object")};
  }
}

void Fields::fail(const char* name, std::string_view what) {
  if (!fault_) fault_ = Error{Code::invalid_argument, concat(path_of(name), ": ", what)};
}

std::string Fields::path_of(const char* name) const {
  return path_.empty() ? name : concat(path_, ".", name);
}

bool Fields::has(const char* name) const {
  if (!value_.is_object()) return false;
  const auto found = value_.find(name);
  return found != value_.end() && !found->is_null();
}

const Json& Fields::at(const char* name) {
  if (has(name)) return *value_.find(name);
  fail(name, "is missing");
  return null_value();
}

const Json& Fields::array_at(const char* name, std::size_t max) {
  const Json& value = at(name);
  if (value.is_array() && value.size() <= max) return value;
  fail(name, value.is_array() ? concat("has ", value.size(), " elements, at most ", max)
                              : "is not an array");
  return empty_array();
}

std::uint64_t Fields::read_number(const char* name, std::uint64_t min, std::uint64_t max) {
  const Json& value = at(name);
  // A negative number is a signed integer here, and one beyond 64 bits a float.
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number >= min && number <= max) return number;
  }
  fail(name, concat("is not an integer from ", min, " to ", max));
  return min;
}

void Fields::flag(const char* name, bool& out) {
  const Json& value = at(name);
  if (value.is_boolean()) {
    out = value.get<bool>();
  } else {
    fail(name, "is not true or false");
  }
}

std::string Fields::raw_text(const char* name, std::size_t max, bool control_allowed) {
  const Json& value = at(name);
  if (!value.is_string()) {
    fail(name, "is not a string");
    return {};
  }
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() > max) {
    fail(name, concat("has ", text.size(), " bytes, at most ", max));
    return {};
  }
  if (!control_allowed && control_in(text) != std::string_view::npos) {
    fail(name, "contains control characters");
    return {};
  }
  return text;
}

void Fields::text(const char* name, std::string& out, std::size_t max) {
  out = raw_text(name, max, false);
}
void Fields::prose(const char* name, std::string& out, std::size_t max) {
  out = raw_text(name, max, true);
}

}  // namespace aqua::wire
