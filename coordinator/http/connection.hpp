// SPDX-License-Identifier: Apache-2.0
// Connection is one accepted HTTP connection behind cpp-httplib's Stream, with the bounds
// that the library lacks: a deadline for the whole request and another for the whole reply
// (not for each byte).
//
// Threads: one.
#pragma once

#include <httplib.h>

#include <chrono>
#include <cstddef>
#include <string>

#include "coordinator/http/channel.hpp"

namespace aqua::coordinator {

class Connection final : public httplib::Stream {
 public:
  using Clock = std::chrono::steady_clock;

  // Borrows `channel`. The request must have come by
  // `read_deadline`; the reply has `write_timeout` from its first byte to its last.
  Connection(Channel& channel, Clock::time_point read_deadline,
             std::chrono::milliseconds write_timeout);

  // Ends the reply. Where the client is still sending, what comes is thrown away for a
  // moment, or closing would make the kernel discard the reply too. `all_read`: the request was
  // read to its end, so that nothing is waited for.
  void finish(bool all_read);
  // The last read() ended at the deadline.
  [[nodiscard]] bool late() const noexcept { return late_; }

  // httplib::Stream. read() and write() return -1 at the deadline.
  bool is_readable() const override;
  bool is_writable() const override { return true; }
  ssize_t read(char* out, std::size_t size) override;
  ssize_t write(const char* bytes, std::size_t size) override;
  // Never used to decide anything: over a Unix socket there is no address.
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return channel_.fd(); }

 private:
  [[nodiscard]] bool wait(short events, Clock::time_point deadline) const;

  Channel& channel_;
  const Clock::time_point read_deadline_;
  const std::chrono::milliseconds write_timeout_;
  Clock::time_point write_deadline_{};  // set by the first write
  bool late_ = false;
};

}  // namespace aqua::coordinator
