// SPDX-License-Identifier: Apache-2.0
// Channel reads and writes one accepted connection, plainly or within TLS. It never waits; the
// handshake happens within the first calls of receive().
//
// Threads: one at a time.
// Owns:    the socket.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <utility>

#include "base/unique_fd.hpp"
#include "tools/tls/tls_types.hpp"

namespace aqua::coordinator {

class Channel {
 public:
  explicit Channel(UniqueFd fd);  // non-blocking

  // Speaks TLS from here on. `ssl` reads and writes this socket.
  void secure(tls::UniqueSsl ssl) { ssl_ = std::move(ssl); }

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  // True when a reply can be sent: plain, or after the handshake.
  [[nodiscard]] bool is_open() const;

  // As recv() and send(): after -1 with EAGAIN, wait until the socket is ready for wants() and
  // call again with the same bytes. Other errors of TLS are ECONNRESET and EPROTO; end of file
  // without TLS's own is one of them.
  [[nodiscard]] ssize_t receive(char* out, std::size_t size);
  [[nodiscard]] ssize_t send(const char* bytes, std::size_t size);
  [[nodiscard]] short wants() const noexcept { return wants_; }  // POLLIN or POLLOUT
  // Tells the other side that no more comes, where TLS has a way; false: again after wants().
  [[nodiscard]] bool end();

  // Closes the socket, without another word.
  void close() { fd_.reset(); }

 private:
  [[nodiscard]] ssize_t outcome(int result);

  UniqueFd fd_;
  tls::UniqueSsl ssl_;  // nullptr: plain
  short wants_;
  bool broken_ = false;
};

}  // namespace aqua::coordinator
