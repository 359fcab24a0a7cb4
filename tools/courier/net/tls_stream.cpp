// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/net/tls_stream.hpp"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/try.hpp"
#include "tools/courier/net/sockets.hpp"

namespace aqua::courier {
namespace {

constexpr std::uint64_t kKeyBytes = std::uint64_t{64} << 30;  // then new keys

Error away(std::string_view what) {
  return Error{Code::unavailable, concat("courier: ", what)};
}

// Whether the other side has said by TLS that it does not take our certificate.
bool is_about_our_certificate(unsigned long error) {
  switch (ERR_GET_REASON(error)) {
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:  // its signature is not the authority's
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return true;
    default:
      return false;
  }
}

// Why OpenSSL has ended a connection: what is wrong with the other's certificate or with ours,
// where that is it.
Error not_trusted(SSL* ssl) {
  const bool ours = is_about_our_certificate(::ERR_peek_error());
  const Error reason = tls::tls_error(ours ? "courier: the other side refuses our certificate"
                                           : "courier: TLS");  // empties the queue
  const long verified = ::SSL_get_verify_result(ssl);
  if (verified == X509_V_OK) return {Code::permission_denied, reason.message};
  const char* const wanted = ::SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  return {Code::permission_denied,
          concat("courier: the other's certificate: ", ::X509_verify_cert_error_string(verified),
                 verified == X509_V_ERR_HOSTNAME_MISMATCH && wanted != nullptr
                     ? concat(", it is not of ", wanted)
                     : "")};
}

}  // namespace

Result<std::unique_ptr<TlsStream>> TlsStream::begin(const MutualTls& identity, UniqueFd socket,
                                                    int stop) {
  tls::UniqueSsl ssl = identity.begin();
  if (ssl == nullptr || ::SSL_set_fd(ssl.get(), socket.get()) != 1) {
    return Error{Code::resource_exhausted, "courier: no memory for a connection"};
  }
  return std::unique_ptr<TlsStream>(new TlsStream(std::move(socket), std::move(ssl), stop));
}

Result<void> TlsStream::shake_hands() {
  for (;;) {
    ::ERR_clear_error();
    const int result = ::SSL_do_handshake(ssl_.get());
    if (result == 1) return {};
    AQUA_TRY(wait_for(result));
  }
}

void TlsStream::greeted(std::chrono::seconds patience) {
  patience_ = patience;
  greeting_ends_ = std::chrono::steady_clock::time_point::max();
  give_up_after(socket_.get(), patience);
}

bool TlsStream::has_bytes() const noexcept {
  return ::SSL_has_pending(ssl_.get()) == 1;
}

std::chrono::milliseconds TlsStream::may_wait() const {
  using std::chrono::milliseconds;
  const auto greeting =
      std::chrono::ceil<milliseconds>(greeting_ends_ - std::chrono::steady_clock::now());
  return std::min<milliseconds>(patience_, greeting);
}

Result<void> TlsStream::wait_for(int result) {
  const int reason = ::SSL_get_error(ssl_.get(), result);
  const bool ended = reason == SSL_ERROR_ZERO_RETURN ||
                     (reason == SSL_ERROR_SSL &&
                      ERR_GET_REASON(::ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING);
  if (ended) return away("the other side has closed");
  if (reason == SSL_ERROR_SSL) return not_trusted(ssl_.get());
  if (reason != SSL_ERROR_WANT_READ && reason != SSL_ERROR_WANT_WRITE) {
    return away(errno == 0 ? "the other side is gone" : errno_error("the connection").message);
  }
  const short events = reason == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
  return wait_until(socket_.get(), events, may_wait(), stop_);
}

// `move` is SSL_write_ex() or SSL_read_ex(), called until all bytes have moved.
template <typename Bytes, typename Move>
Result<void> TlsStream::move_all(Bytes bytes, const Move& move) {
  while (!bytes.empty()) {
    std::size_t moved = 0;
    errno = 0;
    ::ERR_clear_error();
    const int result = move(ssl_.get(), bytes.data(), bytes.size(), &moved);
    if (result == 1) {
      bytes = bytes.subspan(moved);
    } else {
      AQUA_TRY(wait_for(result));
    }
  }
  return {};
}

Result<void> TlsStream::send(std::span<const std::byte> bytes) {
  AQUA_TRY(move_all(bytes, ::SSL_write_ex));
  // AES-GCM's keys are good for some 390 GB (RFC 8446, 5.5).
  if ((sent_ += bytes.size()) > kKeyBytes) {
    sent_ = 0;
    if (::SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1) {
      return tls::tls_error("courier: new keys");
    }
  }
  return {};
}

Result<void> TlsStream::read(std::span<std::byte> into) {
  return move_all(into, ::SSL_read_ex);
}

}  // namespace aqua::courier
