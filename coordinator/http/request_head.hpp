// SPDX-License-Identifier: Apache-2.0
// Reads the head of an HTTP/1.1 request strictly: RFC 9112, sections 3 and 5, without what
// servers may tolerate. All but Host, which may be missing: origin.hpp says what it may name.
//
// Threads: free functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/http/refusal.hpp"

namespace aqua::coordinator {

struct HeadLimits {
  std::size_t bytes = std::size_t{32} << 10;  // request line and headers
  std::size_t headers = 64;                   // their number
  std::size_t target = 512;                   // bytes
};

struct RequestHead {
  std::string method;
  std::string path;   // before '?', as it was sent: no escape is undone
  std::string query;  // after it
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case

  [[nodiscard]] std::size_t count(std::string_view name) const;
  // The first one's value; "" where there is none.
  [[nodiscard]] std::string_view value(std::string_view name) const;
};

// The value of `name` in a query, "a=1&b=2": the first one's, as it was sent; nullopt: none.
[[nodiscard]] std::optional<std::string_view> query_value(std::string_view query,
                                                          std::string_view name);

// Finds the end of a request's head: the place behind the first empty line; nullopt: not yet.
[[nodiscard]] std::optional<std::size_t> end_of_head(std::string_view text, std::size_t from = 0);

// Reads `text`, a head with its empty line, into `out`; or says how it is refused: 400, 414,
// 431, 505.
[[nodiscard]] std::optional<Refusal> parse_head(std::string_view text, const HeadLimits& limits,
                                                RequestHead& out);

// ASCII letters in lower case.
[[nodiscard]] std::string lower(std::string_view text);

}  // namespace aqua::coordinator
