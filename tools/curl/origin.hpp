// SPDX-License-Identifier: Apache-2.0
// Origin is where somebody is asked: what the path of a URL is put behind.
//
// Threads: plain functions. Pure.
#pragma once

#include <string>
#include <string_view>

#include "aqua/result.hpp"

namespace aqua::curl {

struct Origin {
  std::string scheme;  // http or https
  std::string host;    // a DNS name, or an address in numbers; IPv6 in brackets
  int port = 0;
};

// Parses "http://HOST:PORT" or "https://HOST:PORT". invalid_argument for anything else.
[[nodiscard]] Result<Origin> parse_origin(std::string_view text);
[[nodiscard]] std::string to_string(const Origin& origin);

}  // namespace aqua::curl
