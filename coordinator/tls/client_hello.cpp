// SPDX-License-Identifier: Apache-2.0
#include "coordinator/tls/client_hello.hpp"

#include <utility>

namespace aqua::coordinator {
namespace {

constexpr std::size_t kHandshakeAt = 5;  // behind the record's type, version and length

constexpr std::size_t byte(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

}  // namespace

Greeting greeting_of(std::string_view text) {
  constexpr std::size_t kHandshakeRecord = 22;
  constexpr std::size_t kMajorVersion = 3;
  constexpr std::size_t kClientHello = 1;
  constexpr std::pair<std::size_t, std::size_t> kFixed[] = {
      {0, kHandshakeRecord}, {1, kMajorVersion}, {kHandshakeAt, kClientHello}};
  for (const auto& [at, value] : kFixed) {
    if (at < text.size() && byte(text, at) != value) return Greeting::other;
  }
  if (text.size() < kHelloHeadBytes) return Greeting::unfinished;
  const std::size_t length = (byte(text, 6) << 16) | (byte(text, 7) << 8) | byte(text, 8);
  return length <= kMaxHelloBytes ? Greeting::hello : Greeting::other;
}

}  // namespace aqua::coordinator
