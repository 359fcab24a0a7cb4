// Connection is one accepted HTTP connection as cpp-httplib reads and writes it, with the
// bounds that the library lacks: a deadline for the whole request and another for the whole
// reply (not for each byte), and limits on the bytes of the headers and of the request,
// whatever the request says of its own length.
//
// Threads: one.
#pragma once

#include <httplib.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <string>

namespace aqua::coordinator {

struct ConnectionLimits {
  std::size_t header_bytes = std::size_t{32} << 10;
  std::size_t request_bytes = (std::size_t{1} << 20) + (std::size_t{64} << 10);  // headers and body
  std::chrono::milliseconds read_timeout{5000};    // from accept to the request's last byte
  std::chrono::milliseconds write_timeout{10000};  // from the reply's first byte to its last
};

class Connection final : public httplib::Stream {
 public:
  // Borrows `fd`, a connected non-blocking socket.
  Connection(int fd, const ConnectionLimits& limits);

  // Ends the reply. Where the client is still sending, what comes is thrown away for a
  // moment, or closing would make the kernel discard the reply too.
  void finish();

  // httplib::Stream. read() and write() return -1 when a limit is reached.
  bool is_readable() const override;
  bool is_writable() const override { return true; }
  ssize_t read(char* out, std::size_t size) override;
  ssize_t write(const char* bytes, std::size_t size) override;
  // Never used to decide anything: over a Unix socket there is no address.
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return fd_; }

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] bool wait(short events, Clock::time_point deadline) const;
  [[nodiscard]] ssize_t fill();
  [[nodiscard]] bool within_limits(const char* bytes, std::size_t size);

  const int fd_;
  const ConnectionLimits& limits_;
  const Clock::time_point read_deadline_;
  Clock::time_point write_deadline_{};  // set by the first write
  std::size_t read_bytes_ = 0;
  unsigned newlines_ = 0;  // since the last byte of text: two end the headers
  bool in_headers_ = true;
  std::array<char, 4096> buffer_{};
  std::size_t begin_ = 0;  // buffer_[begin_, end_) is read ahead
  std::size_t end_ = 0;
};

}  // namespace aqua::coordinator
