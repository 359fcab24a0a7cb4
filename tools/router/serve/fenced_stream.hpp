// SPDX-License-Identifier: Apache-2.0
// FencedStream carries one client's connection to cpp-httplib, and keeps the library from what it
// does not bound by itself (0.11.4, the oldest that is supported): a request's head has so many
// bytes and comes within a time, its body likewise, and what is written is read within a time, or
// the connection ends. Without this a client could send headers for ever.
//
// Threads: one, its connection's; current() is that thread's.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>

namespace aqua::router {

struct FenceLimits {
  std::size_t head_bytes = std::size_t{32} << 10;
  std::size_t body_bytes = std::size_t{8} << 20;
  std::chrono::milliseconds idle{5000};     // until the next request begins
  std::chrono::milliseconds head{10'000};   // from its first byte to its last header
  std::chrono::milliseconds body{60'000};   // from there to its end
  std::chrono::milliseconds write{30'000};  // that a reader may take for one write
};

class FencedStream {
 public:
  // Borrows `socket`, and becomes current().
  FencedStream(int socket, const FenceLimits& limits);
  ~FencedStream();
  FencedStream(const FencedStream&) = delete;
  FencedStream& operator=(const FencedStream&) = delete;

  // The connection that this thread serves.
  [[nodiscard]] static FencedStream& current();

  // Waits for the first byte of the next request. False: none came, or the client has gone.
  [[nodiscard]] bool await_request();
  // Whether the client still reads: false once it has closed its end.
  [[nodiscard]] bool client_is_there() const;
  // No further request is read from this connection: what is on its way of this one is not taken.
  void close_after_this() { closing_ = true; }
  [[nodiscard]] bool closing() const noexcept { return closing_; }
  // Ends what was written so that it arrives, though the client may still be sending.
  void linger();

  // As read(2) and write(2); -1 where a fence has ended the connection.
  ssize_t read(char* out, std::size_t size);
  ssize_t write(const char* bytes, std::size_t size);
  [[nodiscard]] int socket() const noexcept { return socket_; }

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] bool fill(Clock::time_point deadline);
  [[nodiscard]] bool allow(char byte);

  const int socket_;
  const FenceLimits limits_;
  std::array<char, 8192> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // of what is in buffer_
  // State of the request that is being read.
  Clock::time_point deadline_{};
  std::size_t taken_ = 0;       // of its head, then of its body
  std::size_t line_bytes_ = 0;  // of the head's line that comes
  bool after_cr_ = false;       // its last byte is a CR
  bool in_body_ = false;
  bool closing_ = false;
};

}  // namespace aqua::router
