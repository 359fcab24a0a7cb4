// SPDX-License-Identifier: Apache-2.0
// A TLS client of a test's own, which trusts one certificate; step by step, so that it can stop
// anywhere.
//
// Threads: one.
#pragma once

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/unique_fd.hpp"

namespace aqua::testing {

class TlsClient {
 public:
  // `fd` is connected. `max_version`: as OpenSSL numbers them; 0: the newest.
  TlsClient(UniqueFd fd, const std::string& trusted, int max_version = 0)
      : fd_(std::move(fd)),
        context_(::SSL_CTX_new(::TLS_client_method()), &::SSL_CTX_free),
        ssl_(nullptr, &::SSL_free) {
    EXPECT_EQ(::SSL_CTX_load_verify_file(context_.get(), trusted.c_str()), 1);
    ::SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    ::SSL_CTX_set_security_level(context_.get(), 0);  // or old versions would not even be tried
    SSL_CTX_set_max_proto_version(context_.get(), max_version);
    ssl_.reset(::SSL_new(context_.get()));
    ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl_.get()), "127.0.0.1");
    ::SSL_set_fd(ssl_.get(), fd_.get());
    ::SSL_set_connect_state(ssl_.get());
  }

  // The handshake; false: one of the two has refused the other.
  [[nodiscard]] bool shake_hands() { return ::SSL_do_handshake(ssl_.get()) == 1; }
  [[nodiscard]] std::string version() const { return ::SSL_get_version(ssl_.get()); }
  // X509_V_OK, or why the server's certificate is not believed.
  [[nodiscard]] long verdict() const { return ::SSL_get_verify_result(ssl_.get()); }

  void send(std::string_view text) {
    while (!text.empty()) {
      const int n = ::SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size()));
      if (n <= 0) return;  // the daemon has heard enough
      text.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  // Until the daemon ends it. `whole`: by TLS's own end, so that nobody has cut it off.
  [[nodiscard]] std::string receive(bool* whole = nullptr) {
    std::string text;
    char buffer[16384];
    for (;;) {
      const int n = ::SSL_read(ssl_.get(), buffer, sizeof buffer);
      if (n > 0) {
        text.append(buffer, static_cast<std::size_t>(n));
        continue;
      }
      if (whole != nullptr) *whole = ::SSL_get_error(ssl_.get(), n) == SSL_ERROR_ZERO_RETURN;
      return text;
    }
  }
  // A record that holds nothing but a new key; false: the daemon has ended it.
  [[nodiscard]] bool update_key() {
    return ::SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1 &&
           ::SSL_do_handshake(ssl_.get()) == 1;
  }
  [[nodiscard]] const UniqueFd& fd() const { return fd_; }

 private:
  UniqueFd fd_;
  std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context_;
  std::unique_ptr<SSL, decltype(&::SSL_free)> ssl_;
};

// The first message of a client's handshake.
[[nodiscard]] inline std::string client_hello() {
  const std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context(
      ::SSL_CTX_new(::TLS_client_method()), &::SSL_CTX_free);
  const std::unique_ptr<SSL, decltype(&::SSL_free)> ssl(::SSL_new(context.get()), &::SSL_free);
  BIO* const from = ::BIO_new(::BIO_s_mem());
  BIO* const to = ::BIO_new(::BIO_s_mem());
  ::SSL_set_bio(ssl.get(), from, to);
  ::SSL_set_connect_state(ssl.get());
  (void)::SSL_do_handshake(ssl.get());
  char buffer[4096];
  const int n = ::BIO_read(to, buffer, sizeof buffer);
  EXPECT_GT(n, 0);
  return {buffer, static_cast<std::size_t>(std::max(n, 0))};
}

}  // namespace aqua::testing
