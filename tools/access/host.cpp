// SPDX-License-Identifier: Apache-2.0
#include "tools/access/host.hpp"

#include <strings.h>

#include <algorithm>

namespace aqua::access {

std::string_view host_of(std::string_view authority) {
  if (authority.starts_with('[')) return authority.substr(0, authority.find(']') + 1);
  return authority.substr(0, authority.find(':'));
}

bool is_loopback(std::string_view host) {
  constexpr std::string_view kName = "localhost";
  if (host.size() == kName.size() && ::strncasecmp(host.data(), kName.data(), kName.size()) == 0)
    return true;
  return host == "[::1]" || (host.starts_with("127.") && std::ranges::all_of(host, [](char c) {
                               return c == '.' || (c >= '0' && c <= '9');
                             }));
}

}  // namespace aqua::access
