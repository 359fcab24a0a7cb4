// SPDX-License-Identifier: Apache-2.0
// A daemon that speaks TLS on a port of 127.0.0.1, beside its Unix socket, with a certificate of
// its own.
//
// Threads: one.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/coordinator/http/tls_client.hpp"
#include "tests/coordinator/raw_http.hpp"
#include "tests/tls/certificate.hpp"

namespace aqua::testing {

// The two files, made anew.
struct Certificate {
  Certificate() { make_certificate(path, key); }
  // Options of a daemon that shows it.
  [[nodiscard]] std::vector<std::string> arguments() const {
    return {"--tls-listen", "127.0.0.1:0", "--tls-cert", path, "--tls-key", key};
  }
  TempDir dir;
  const std::string path = dir / "cert.pem";
  const std::string key = dir / "key.pem";
};

class TlsDaemon {
 public:
  explicit TlsDaemon(const std::vector<std::string>& arguments) : unix_socket(arguments) {
    constexpr std::string_view kReady = "listening on https://";
    const std::string line = unix_socket.daemon.process().read_line();
    EXPECT_TRUE(line.starts_with(kReady)) << line;
    if (line.starts_with(kReady)) address_ = line.substr(kReady.size());
  }
  // To the TLS port, where nothing has been said yet.
  [[nodiscard]] UniqueFd connect() const {
    const wire::SocketAddress target = wire::socket_address(wire::parse_address(address_).value());
    UniqueFd fd(::socket(target.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd.get(), target.get(), target.length), 0);
    return fd;
  }
  // For who asks by address.
  [[nodiscard]] std::string url() const { return "https://" + address_; }
  RawHttp unix_socket;

 private:
  std::string address_;
};

}  // namespace aqua::testing
