// SPDX-License-Identifier: Apache-2.0
// A JSON object that is read key by key and then must have been read whole: a key that is
// misspelt is an error, not a default.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "base/concat.hpp"

namespace aqua {

class JsonObject {
 public:
  // `where` is for errors. The JSON must outlive this.
  JsonObject(const nlohmann::json& value, std::string where)
      : value_(value), where_(std::move(where)) {
    if (!value_.is_object()) fail("is not an object");
  }

  // These keep the first error; the values are meaningless after one.
  [[nodiscard]] double number(const char* key, double least, double most) {
    const nlohmann::json* found = take(key);
    if (found == nullptr) return least;
    const double value = found->is_number() ? found->get<double>() : std::nan("");
    if (!(value >= least && value <= most)) {
      fail(concat(key, " is not a number from ", least, " to ", most));
      return least;
    }
    return value;
  }
  [[nodiscard]] double number_or(const char* key, double otherwise, double least, double most) {
    return has(key) ? number(key, least, most) : otherwise;
  }
  [[nodiscard]] std::uint32_t count(const char* key, std::uint32_t least, std::uint32_t most) {
    const double value = number(key, least, most);
    if (value != std::floor(value)) fail(concat(key, " is not whole"));
    return static_cast<std::uint32_t>(value);
  }
  [[nodiscard]] std::string text(const char* key) {
    const nlohmann::json* found = take(key);
    if (found == nullptr) return {};
    if (!found->is_string()) {
      fail(concat(key, " is not a text"));
      return {};
    }
    return found->get<std::string>();
  }
  [[nodiscard]] std::string text_or(const char* key, std::string otherwise) {
    return has(key) ? text(key) : std::move(otherwise);
  }
  [[nodiscard]] bool flag_or(const char* key, bool otherwise) {
    if (!has(key)) return otherwise;
    const nlohmann::json* found = take(key);
    if (!found->is_boolean()) {
      fail(concat(key, " is not true or false"));
      return otherwise;
    }
    return found->get<bool>();
  }
  [[nodiscard]] const nlohmann::json* take(const char* key) {
    read_.insert(key);
    if (!has(key)) {
      is_missing_ = is_missing_ || error_.empty();
      fail(concat(key, " is missing"));
      return nullptr;
    }
    return &value_.at(key);
  }
  [[nodiscard]] bool has(const char* key) const {
    return value_.is_object() && value_.contains(key);
  }
  void fail(std::string_view what) {
    if (error_.empty()) error_ = concat(where_, ": ", what);
  }
  // invalid_argument: the first error, else a key that nobody read; both where a key is missing,
  // since the other one may be it, misspelt.
  [[nodiscard]] Result<void> finish() {
    if (error_.empty() || is_missing_) {
      for (const auto& [key, unused] : value_.items()) {
        if (read_.contains(key)) continue;
        const std::string unknown = concat("unknown key '", key.substr(0, 40), "'");
        error_ = error_.empty() ? concat(where_, ": ", unknown) : concat(error_, "; ", unknown);
        break;
      }
    }
    if (error_.empty()) return {};
    return Error{Code::invalid_argument, error_};
  }

 private:
  const nlohmann::json& value_;
  std::string where_;
  std::set<std::string> read_;
  bool is_missing_ = false;  // the first error is that a key is missing
  std::string error_;
};

}  // namespace aqua
