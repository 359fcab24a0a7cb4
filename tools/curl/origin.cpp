// SPDX-License-Identifier: Apache-2.0
#include "tools/curl/origin.hpp"

#include <charconv>

#include "base/concat.hpp"
#include "base/text/plain_name.hpp"

namespace aqua::curl {

Result<Origin> parse_origin(std::string_view text) {
  const Error wrong{
      Code::invalid_argument,
      concat("address \"", text, "\": must be http://HOST:PORT or https://HOST:PORT")};
  constexpr std::string_view kEnd = "://";
  const std::size_t scheme = text.find(kEnd);
  const std::size_t colon = text.rfind(':');
  if (scheme == std::string_view::npos || colon <= scheme) return wrong;
  Origin origin{.scheme = std::string(text.substr(0, scheme)), .host = {}};
  if (origin.scheme != "http" && origin.scheme != "https") return wrong;
  const std::string_view port = text.substr(colon + 1);
  const std::size_t begin = scheme + kEnd.size();
  const std::string_view host = text.substr(begin, colon - begin);
  const auto [end, fault] = std::from_chars(port.data(), port.data() + port.size(), origin.port);
  if (fault != std::errc{} || end != port.data() + port.size() || origin.port < 1 ||
      origin.port > 65535)
    return wrong;
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  const std::string_view inside = bracketed ? host.substr(1, host.size() - 2) : host;
  constexpr std::size_t kLongestName = 253;
  if (inside.empty() || inside.size() > kLongestName || !is_plain(inside) ||
      inside.find_first_of("/@?#[] ") != std::string_view::npos)
    return wrong;
  if (!bracketed && inside.find(':') != std::string_view::npos) return wrong;
  origin.host = host;
  return origin;
}

std::string to_string(const Origin& origin) {
  return concat(origin.scheme, "://", origin.host, ":", origin.port);
}

}  // namespace aqua::curl
