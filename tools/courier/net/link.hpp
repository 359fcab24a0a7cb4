// SPDX-License-Identifier: Apache-2.0
// Link is a connection to another courier: frames over TLS, the bytes of some of which another
// carrier moves where both sides have agreed on it. Everything has a deadline: all of the greeting,
// and each time that bytes are awaited or cannot be sent.
//
// Threads: one at a time. `stop`, an event, ends every call with cancelled.
// Errors:  unavailable: the other side is away, or nothing has moved for the patience;
//          permission_denied: it is not who it has to be; invalid_argument: it says what cannot be.
//          After any of them the connection is of no use.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "aqua/result.hpp"
#include "base/unique_fd.hpp"
#include "tools/courier/net/carrier.hpp"
#include "tools/courier/net/mutual_tls.hpp"
#include "tools/courier/net/tls_stream.hpp"
#include "tools/courier/wire/frame.hpp"
#include "tools/courier/wire/messages.hpp"

namespace aqua::courier {

class Link {
 public:
  static constexpr std::chrono::seconds kGreeting = TlsStream::kGreeting;
  static constexpr std::chrono::seconds kPatience{20};  // after that, unless options say otherwise

  // To "HOST:PORT", where a courier of this name is to be.
  [[nodiscard]] static Result<Link> connect(const MutualTls& identity, const std::string& address,
                                            const std::string& name, int stop);
  // A connection that came. permission_denied: it has none of these names.
  [[nodiscard]] static Result<Link> accept(const MutualTls& identity, UniqueFd socket,
                                           std::span<const std::string> names, int stop);

  // The first messages have been said and heard: from now on each wait may last so long without a
  // byte that moves, and the other side be out of reach.
  void greeted(std::chrono::seconds patience) { stream_->greeted(patience); }

  [[nodiscard]] std::chrono::seconds patience() const noexcept { return stream_->patience(); }
  [[nodiscard]] const std::string& peer() const noexcept { return peer_; }  // its name
  // To be polled, unless has_bytes(): some were read already.
  [[nodiscard]] int descriptor() const noexcept { return stream_->descriptor(); }
  [[nodiscard]] bool has_bytes() const noexcept { return stream_->has_bytes(); }
  [[nodiscard]] const TlsStream& stream() const noexcept { return *stream_; }

  // Both sides have agreed on it: bytes go over it from now on.
  void carry_by(std::unique_ptr<Carrier> carrier) { carrier_ = std::move(carrier); }
  [[nodiscard]] bool is_over_tls() const noexcept { return carrier_ == nullptr; }
  // The carrier was given bytes to send, and has got none of them through.
  [[nodiscard]] bool has_carried_in_vain() const noexcept { return is_tried_ && !has_carried_; }
  // As Carrier::ready_to_wait().
  [[nodiscard]] Result<int> ready_to_wait() { return carrier().ready_to_wait(); }

  [[nodiscard]] Result<void> say(const Message& message);
  // Sends the bytes of a parcel or a copy, in as many frames as it takes.
  [[nodiscard]] Result<void> send(std::span<const std::byte> bytes);
  [[nodiscard]] std::size_t most_in_a_frame() const noexcept { return most_in(kind_of_bytes()); }
  // What comes next: a message, or nothing, where it is bytes, of which `length` are to be read.
  struct Frame {
    std::optional<Message> message{};
    std::size_t length = 0;
  };
  [[nodiscard]] Result<Frame> receive();
  // All bytes of the frame that was received.
  [[nodiscard]] Result<void> read(std::span<std::byte> into);

 private:
  explicit Link(std::unique_ptr<TlsStream> stream) : stream_(std::move(stream)) {}
  [[nodiscard]] Carrier& carrier() const noexcept {
    return carrier_ == nullptr ? *stream_ : *carrier_;
  }
  [[nodiscard]] FrameKind kind_of_bytes() const noexcept {
    return carrier_ == nullptr ? FrameKind::bytes : FrameKind::carried;
  }

  std::unique_ptr<TlsStream> stream_;
  // nullptr: the stream. It waits with the stream, and ends first.
  std::unique_ptr<Carrier> carrier_;
  std::string peer_;
  bool is_tried_ = false, has_carried_ = false;  // the carrier, with what is sent
};

}  // namespace aqua::courier
