// SPDX-License-Identifier: Apache-2.0
// Connection is one accepted HTTP connection with one deadline for the whole request and one for
// the whole reply (not for each byte).
//
// Threads: one.
#pragma once

#include <chrono>
#include <cstddef>

#include "coordinator/http/channel.hpp"
#include "coordinator/http/stream.hpp"

namespace aqua::coordinator {

class Connection final : public Stream {
 public:
  using Clock = std::chrono::steady_clock;

  // Borrows `channel`. The request must have come by `read_deadline`; the reply has
  // `write_timeout` from its first byte to its last.
  Connection(Channel& channel, Clock::time_point read_deadline,
             std::chrono::milliseconds write_timeout);

  // Ends the reply. Where the client is still sending, what comes is thrown away for a
  // moment, or closing would make the kernel discard the reply too. `all_read`: the request was
  // read to its end, so that nothing is waited for.
  void finish(bool all_read);

  // Return -1 with ETIMEDOUT at the deadline.
  ssize_t read(char* out, std::size_t size) override;
  ssize_t write(const char* bytes, std::size_t size) override;

 private:
  [[nodiscard]] bool wait(short events, Clock::time_point deadline) const;

  Channel& channel_;
  const Clock::time_point read_deadline_;
  const std::chrono::milliseconds write_timeout_;
  Clock::time_point write_deadline_{};  // set by the reply's first write
};

}  // namespace aqua::coordinator
