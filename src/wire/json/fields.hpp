// SPDX-License-Identifier: Apache-2.0
// Fields reads one JSON object strictly. The first fault is kept, with the path of the field
// ("slabs[3].bytes"), and everything read after it is a default value: callers read all they
// want and look at the fault once. Inside this room only.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "base/concat.hpp"
#include "base/ids.hpp"
#include "wire/json/json.hpp"
#include "wire/limits.hpp"

namespace aqua::wire {

class Fields {
 public:
  using Fault = std::optional<Error>;

  // Borrows all three.
  Fields(const Json& value, const std::string& path, Fault& fault);

  [[nodiscard]] bool has(const char* name) const;  // present and not null

  // An integer from `min` to `max`, both included.
  template <std::unsigned_integral N>
  void number(const char* name, N& out, std::uint64_t min = 0,
              std::uint64_t max = std::numeric_limits<N>::max()) {
    out = static_cast<N>(read_number(name, min, max));
  }
  void flag(const char* name, bool& out);
  // At most `max` bytes, without control characters (base/text/control_characters.hpp).
  void text(const char* name, std::string& out, std::size_t max = kMaxName);
  // As text(), but line breaks and other control characters are allowed.
  void prose(const char* name, std::string& out, std::size_t max = kMaxMessage);
  // 32 hex digits.
  template <typename Tag>
  void id(const char* name, Id128<Tag>& out) {
    auto parsed = parse_id<Tag>(raw_text(name, 64, false));
    if (parsed.ok()) {
      out = *parsed;
    } else {
      fail(name, "is not 32 hex digits");
    }
  }
  // As id(); absent or null is nullopt.
  template <typename Tag>
  void id(const char* name, std::optional<Id128<Tag>>& out) {
    if (has(name)) id(name, out.emplace());
  }
  // One of the names that `parse` knows.
  template <typename E, typename Parse>
  void named(const char* name, E& out, Parse parse) {
    const std::string given = raw_text(name, kMaxName, false);
    if (auto value = parse(given)) {
      out = *value;
    } else {
      fail(name, "is not a name known here");
    }
  }
  // An object, read by `read(Fields&, T&)`.
  template <typename T, typename Read>
  void object(const char* name, T& out, Read read) {
    const std::string path = path_of(name);
    Fields fields(at(name), path, fault_);
    if (!fault_) read(fields, out);
  }
  // An array of objects, each starting as `initial`; reading stops at the first fault.
  template <typename T, typename Read>
  void objects(const char* name, std::vector<T>& out, std::size_t max, Read read,
               const T& initial = T{}) {
    const Json& array = array_at(name, max);
    out.reserve(array.size());
    for (std::size_t i = 0; i < array.size() && !fault_; ++i) {
      const std::string path = concat(path_of(name), "[", i, "]");
      Fields fields(array[i], path, fault_);
      if (!fault_) read(fields, out.emplace_back(initial));
    }
  }
  // An array of integers.
  template <std::unsigned_integral N>
  void numbers(const char* name, std::vector<N>& out, std::size_t max) {
    constexpr N kLargest = std::numeric_limits<N>::max();
    for (const Json& value : array_at(name, max)) {
      if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kLargest) {
        return fail(name,
                    concat("element ", out.size(), " is not an integer from 0 to ", kLargest));
      }
      out.push_back(value.get<N>());
    }
  }

  // Notes a fault of field `name`, unless there is one already.
  void fail(const char* name, std::string_view what);

 private:
  std::string path_of(const char* name) const;
  const Json& at(const char* name);  // a null value when missing, which is a fault
  const Json& array_at(const char* name, std::size_t max);  // an empty array on a fault
  std::uint64_t read_number(const char* name, std::uint64_t min, std::uint64_t max);
  std::string raw_text(const char* name, std::size_t max, bool control_allowed);

  const Json& value_;
  const std::string& path_;
  Fault& fault_;
};

}  // namespace aqua::wire
