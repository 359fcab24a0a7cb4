// SPDX-License-Identifier: Apache-2.0
// Tells by its first bytes whether a connection to a TLS port begins a handshake: before OpenSSL
// sets memory aside for it, and so that a client that speaks plain HTTP there gets an answer.
//
// Threads: free functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace aqua::coordinator {

// A record's header and a handshake message's (RFC 8446, 5.1 and 4).
inline constexpr std::size_t kHelloHeadBytes = 9;
// Clients send a tenth of it. OpenSSL would set aside 128 KiB when the head promises so much.
inline constexpr std::size_t kMaxHelloBytes = std::size_t{16} << 10;

enum class Greeting : std::uint8_t {
  unfinished,  // more is needed to tell
  hello,       // a ClientHello of at most kMaxHelloBytes
  other,       // anything else
};

// `text`: at most kHelloHeadBytes.
[[nodiscard]] Greeting greeting_of(std::string_view text);

}  // namespace aqua::coordinator
