// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/net/link.hpp"

#include <openssl/x509v3.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/concat.hpp"
#include "base/text/plain_name.hpp"
#include "base/try.hpp"
#include "tools/courier/net/sockets.hpp"

namespace aqua::courier {
namespace {

constexpr unsigned kNameRules = X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_WILDCARDS;

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

Result<Link> Link::connect(const MutualTls& identity, const std::string& address,
                           const std::string& name, int stop) {
  AQUA_ASSIGN(UniqueFd socket, connect_to(address, kGreeting, stop));
  AQUA_ASSIGN(auto stream, TlsStream::begin(identity, std::move(socket), stop));
  SSL* const ssl = stream->ssl();
  ::SSL_set_hostflags(ssl, kNameRules);
  if (::SSL_set1_host(ssl, name.c_str()) != 1 || SSL_set_tlsext_host_name(ssl, name.c_str()) != 1) {
    return tls::tls_error(concat("courier: the name ", name));
  }
  ::SSL_set_connect_state(ssl);
  AQUA_TRY(stream->shake_hands());
  Link link(std::move(stream));
  link.peer_ = name;
  return link;
}

Result<Link> Link::accept(const MutualTls& identity, UniqueFd socket,
                          std::span<const std::string> names, int stop) {
  AQUA_ASSIGN(auto stream, TlsStream::begin(identity, std::move(socket), stop));
  ::SSL_set_accept_state(stream->ssl());
  AQUA_TRY(stream->shake_hands());
  X509* const certificate = ::SSL_get0_peer_certificate(stream->ssl());
  Link link(std::move(stream));
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

Result<void> Link::say(const Message& message) {
  const std::string words = encode(message);
  const FrameHeadBytes head =
      encode(FrameHead{FrameKind::words, static_cast<std::uint32_t>(words.size())});
  std::vector<std::byte> frame(head.begin(), head.end());
  const auto bytes = std::as_bytes(std::span(words));
  frame.insert(frame.end(), bytes.begin(), bytes.end());
  return stream_->send(frame);
}

Result<void> Link::send(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), most_in_a_frame()));
    const FrameHead head{kind_of_bytes(), static_cast<std::uint32_t>(part.size())};
    AQUA_TRY(stream_->send(encode(head)));
    is_tried_ = !is_over_tls();
    AQUA_TRY(carrier().send(part));
    has_carried_ = true;
    bytes = bytes.subspan(part.size());
  }
  return {};
}

Result<void> Link::read(std::span<std::byte> into) {
  return carrier().read(into);
}

Result<Link::Frame> Link::receive() {
  FrameHeadBytes bytes{};
  AQUA_TRY(stream_->read(bytes));
  AQUA_ASSIGN(const FrameHead head, decode_head(bytes));
  if (head.kind == kind_of_bytes()) return Frame{.length = head.length};
  if (head.kind != FrameKind::words) {
    return Error{Code::invalid_argument, "courier: bytes over a carrier that was not agreed on"};
  }
  std::string words(head.length, '\0');
  AQUA_TRY(stream_->read(std::as_writable_bytes(std::span(words))));
  AQUA_ASSIGN(Message message, decode(words));
  return Frame{.message = std::move(message)};
}

}  // namespace aqua::courier
