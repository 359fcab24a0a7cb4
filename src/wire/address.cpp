// SPDX-License-Identifier: Apache-2.0
#include "wire/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>

#include "base/concat.hpp"
#include "wire/limits.hpp"

namespace aqua::wire {
namespace {

constexpr std::string_view kUnix = "unix:";

bool is_numeric(const std::string& host) {
  in6_addr any{};
  return ::inet_pton(AF_INET, host.c_str(), &any) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &any) == 1;
}

bool is_loopback(const std::string& host) {
  in_addr v4{};
  in6_addr v6{};
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  return ::inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

Error refused(std::string_view text, std::string_view why) {
  return Error{Code::invalid_argument, concat("address \"", text, "\": ", why)};
}

}  // namespace

std::string to_string(const Address& address) {
  if (address.is_unix()) return concat(kUnix, address.path);
  const bool v6 = address.host.find(':') != std::string::npos;
  return concat(v6 ? "[" : "", address.host, v6 ? "]:" : ":", address.port);
}

Result<Address> parse_address(std::string_view text, Hosts hosts) {
  Address address;
  if (text.starts_with(kUnix)) {
    address.path = text.substr(kUnix.size());
    if (address.path.empty()) return refused(text, "the path is empty");
    if (address.path.size() > kMaxPath) {
      return refused(text, concat("the path has ", address.path.size(),
                                  " bytes; a Unix socket's has at most ", kMaxPath));
    }
    if (address.path.front() != '/') return refused(text, "the path must begin with /");
    if (address.path.find('\0') != std::string::npos)
      return refused(text, "the path contains a zero byte");
    return address;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return refused(text, "must be unix:PATH or HOST:PORT");
  const std::string_view port = text.substr(colon + 1);
  const auto [end, fault] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (port.empty() || fault != std::errc{} || end != port.data() + port.size()) {
    return refused(text, "the port must be a number from 0 to 65535");
  }
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  address.host = host == "localhost" ? "127.0.0.1" : host;
  if (hosts == Hosts::any && !is_numeric(address.host))
    return refused(text, "the host must be localhost or an address in numbers");
  if (hosts == Hosts::loopback && !is_loopback(address.host)) {
    return refused(text,
                   "the host must be localhost, 127.x.y.z or [::1]; others are not served without "
                   "TLS and tokens");
  }
  return address;
}

SocketAddress socket_address(const Address& address) {
  SocketAddress out;
  if (address.is_unix()) {
    sockaddr_un named{};
    named.sun_family = AF_UNIX;
    std::memcpy(named.sun_path, address.path.data(),
                std::min(address.path.size(), sizeof named.sun_path - 1));
    std::memcpy(&out.storage, &named, sizeof named);
    out.length = sizeof named;
    return out;
  }
  sockaddr_in v4{};
  if (::inet_pton(AF_INET, address.host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(address.port);
    std::memcpy(&out.storage, &v4, sizeof v4);
    out.length = sizeof v4;
    return out;
  }
  sockaddr_in6 v6{};
  ::inet_pton(AF_INET6, address.host.c_str(), &v6.sin6_addr);
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(address.port);
  std::memcpy(&out.storage, &v6, sizeof v6);
  out.length = sizeof v6;
  return out;
}

}  // namespace aqua::wire
