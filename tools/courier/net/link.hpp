// SPDX-License-Identifier: Apache-2.0
// Link is a connection to another courier: frames over TLS. Everything has a deadline: all of the
// greeting, and each time that bytes are awaited or cannot be sent.
//
// Threads: one at a time. `stop`, an event, ends every call with cancelled.
// Errors:  unavailable: the other side is away, or nothing has moved for the patience;
//          permission_denied: it is not who it has to be; invalid_argument: it says what cannot be.
//          After any of them the connection is of no use.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aqua/result.hpp"
#include "base/unique_fd.hpp"
#include "tools/courier/net/mutual_tls.hpp"
#include "tools/courier/wire/frame.hpp"
#include "tools/courier/wire/messages.hpp"

namespace aqua::courier {

class Link {
 public:
  static constexpr std::chrono::seconds kGreeting{5};   // for all until greeted()
  static constexpr std::chrono::seconds kPatience{20};  // after that, unless options say otherwise

  // To "HOST:PORT", where a courier of this name is to be.
  [[nodiscard]] static Result<Link> connect(const MutualTls& identity, const std::string& address,
                                            const std::string& name, int stop);
  // A connection that came. permission_denied: it has none of these names.
  [[nodiscard]] static Result<Link> accept(const MutualTls& identity, UniqueFd socket,
                                           std::span<const std::string> names, int stop);

  // The first messages have been said and heard: from now on each wait may last so long without a
  // byte that moves, and the other side be out of reach.
  void greeted(std::chrono::seconds patience);

  [[nodiscard]] std::chrono::seconds patience() const noexcept { return patience_; }
  [[nodiscard]] const std::string& peer() const noexcept { return peer_; }  // its name
  // To be polled, unless has_bytes(): some were read already.
  [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }
  [[nodiscard]] bool has_bytes() const noexcept;

  [[nodiscard]] Result<void> say(const Message& message);
  // Sends the bytes of a parcel or a copy, in as many frames as it takes.
  [[nodiscard]] Result<void> send(std::span<const std::byte> bytes);
  // What comes next: a message, or nothing, where it is bytes, of which `length` are to be read.
  struct Frame {
    std::optional<Message> message{};
    std::size_t length = 0;
  };
  [[nodiscard]] Result<Frame> receive();
  [[nodiscard]] Result<void> read(std::span<std::byte> into);

 private:
  Link(UniqueFd socket, tls::UniqueSsl ssl, int stop)
      : socket_(std::move(socket)), ssl_(std::move(ssl)), stop_(stop) {}
  [[nodiscard]] static Result<Link> over(const MutualTls& identity, UniqueFd socket, int stop);
  [[nodiscard]] Result<void> shake_hands();
  template <typename Bytes, typename Move>
  [[nodiscard]] Result<void> move_all(Bytes bytes, const Move& move);
  [[nodiscard]] Result<void> write(std::span<const std::byte> bytes);
  // Until what OpenSSL's `result` asks for is there.
  [[nodiscard]] Result<void> wait_for(int result);

  UniqueFd socket_;
  tls::UniqueSsl ssl_;
  int stop_;
  std::chrono::steady_clock::time_point greeting_ends_ =
      std::chrono::steady_clock::now() + kGreeting;
  std::chrono::seconds patience_ = kGreeting;
  std::uint64_t sent_ = 0;  // bytes under the keys that there are
  std::string peer_;
};

}  // namespace aqua::courier
