// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/net/link.hpp"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/text/plain_name.hpp"
#include "base/try.hpp"
#include "tools/courier/net/sockets.hpp"

namespace aqua::courier {
namespace {

constexpr std::uint64_t kKeyBytes = std::uint64_t{64} << 30;  // then new keys
constexpr unsigned kNameRules = X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_WILDCARDS;

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

// The DNS names of a certificate, for a message.
std::string names_of(X509* certificate) {
  const std::unique_ptr<GENERAL_NAMES, decltype(&::GENERAL_NAMES_free)> all(
      static_cast<GENERAL_NAMES*>(
          ::X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      &::GENERAL_NAMES_free);
  constexpr int kMost = 4;
  std::string names;
  for (int i = 0; i < std::min(kMost, sk_GENERAL_NAME_num(all.get())); ++i) {
    const GENERAL_NAME* const one = sk_GENERAL_NAME_value(all.get(), i);
    if (one->type != GEN_DNS) continue;
    const std::string name(reinterpret_cast<const char*>(::ASN1_STRING_get0_data(one->d.dNSName)),
                           static_cast<std::size_t>(::ASN1_STRING_length(one->d.dNSName)));
    if (is_plain(name)) names += concat(names.empty() ? "" : ", ", name.substr(0, 253));
  }
  return names.empty() ? "without a DNS name" : names;
}

}  // namespace

Result<Link> Link::over(const MutualTls& identity, UniqueFd socket, int stop) {
  tls::UniqueSsl ssl = identity.begin();
  if (ssl == nullptr || ::SSL_set_fd(ssl.get(), socket.get()) != 1) {
    return Error{Code::resource_exhausted, "courier: no memory for a connection"};
  }
  return Link(std::move(socket), std::move(ssl), stop);
}

Result<Link> Link::connect(const MutualTls& identity, const std::string& address,
                           const std::string& name, int stop) {
  AQUA_ASSIGN(UniqueFd socket, connect_to(address, kGreeting, stop));
  AQUA_ASSIGN(Link link, over(identity, std::move(socket), stop));
  SSL* const ssl = link.ssl_.get();
  ::SSL_set_hostflags(ssl, kNameRules);
  if (::SSL_set1_host(ssl, name.c_str()) != 1 || SSL_set_tlsext_host_name(ssl, name.c_str()) != 1) {
    return tls::tls_error(concat("courier: the name ", name));
  }
  ::SSL_set_connect_state(ssl);
  AQUA_TRY(link.shake_hands());
  link.peer_ = name;
  return link;
}

Result<Link> Link::accept(const MutualTls& identity, UniqueFd socket,
                          std::span<const std::string> names, int stop) {
  AQUA_ASSIGN(Link link, over(identity, std::move(socket), stop));
  ::SSL_set_accept_state(link.ssl_.get());
  AQUA_TRY(link.shake_hands());
  X509* const certificate = ::SSL_get0_peer_certificate(link.ssl_.get());
  const auto name = std::ranges::find_if(names, [&](const std::string& one) {
    return ::X509_check_host(certificate, one.data(), one.size(), kNameRules, nullptr) == 1;
  });
  if (name == names.end()) {
    const Error why{Code::permission_denied,
                    concat("who connects has none of the names of peers here: its certificate is ",
                           names_of(certificate))};
    (void)link.say(Refused{0, why});
    return why;
  }
  link.peer_ = *name;
  return link;
}

Result<void> Link::shake_hands() {
  for (;;) {
    ::ERR_clear_error();
    const int result = ::SSL_do_handshake(ssl_.get());
    if (result == 1) return {};
    AQUA_TRY(wait_for(result));
  }
}

void Link::greeted(std::chrono::seconds patience) {
  patience_ = patience;
  greeting_ends_ = std::chrono::steady_clock::time_point::max();
  give_up_after(socket_.get(), patience);
}

bool Link::has_bytes() const noexcept {
  return ::SSL_has_pending(ssl_.get()) == 1;
}

Result<void> Link::wait_for(int result) {
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
  using std::chrono::milliseconds, std::chrono::steady_clock;
  const auto greeting = std::chrono::ceil<milliseconds>(greeting_ends_ - steady_clock::now());
  return wait_until(socket_.get(), events, std::min<milliseconds>(patience_, greeting), stop_);
}

// `move` is SSL_write_ex() or SSL_read_ex(), called until all bytes have moved.
template <typename Bytes, typename Move>
Result<void> Link::move_all(Bytes bytes, const Move& move) {
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

Result<void> Link::write(std::span<const std::byte> bytes) {
  return move_all(bytes, ::SSL_write_ex);
}

Result<void> Link::read(std::span<std::byte> into) {
  return move_all(into, ::SSL_read_ex);
}

Result<void> Link::say(const Message& message) {
  const std::string words = encode(message);
  const FrameHeadBytes head =
      encode(FrameHead{FrameKind::words, static_cast<std::uint32_t>(words.size())});
  std::vector<std::byte> frame(head.begin(), head.end());
  const auto bytes = std::as_bytes(std::span(words));
  frame.insert(frame.end(), bytes.begin(), bytes.end());
  return write(frame);
}

Result<void> Link::send(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), kMostBytes));
    AQUA_TRY(write(encode(FrameHead{FrameKind::bytes, static_cast<std::uint32_t>(part.size())})));
    AQUA_TRY(write(part));
    // AES-GCM's keys are good for some 390 GB (RFC 8446, 5.5).
    if ((sent_ += part.size()) > kKeyBytes) {
      sent_ = 0;
      if (::SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1) {
        return tls::tls_error("courier: new keys");
      }
    }
    bytes = bytes.subspan(part.size());
  }
  return {};
}

Result<Link::Frame> Link::receive() {
  FrameHeadBytes bytes{};
  AQUA_TRY(read(bytes));
  AQUA_ASSIGN(const FrameHead head, decode_head(bytes));
  if (head.kind == FrameKind::bytes) return Frame{.length = head.length};
  std::string words(head.length, '\0');
  AQUA_TRY(read(std::as_writable_bytes(std::span(words))));
  AQUA_ASSIGN(Message message, decode(words));
  return Frame{.message = std::move(message)};
}

}  // namespace aqua::courier
