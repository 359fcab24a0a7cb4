// SPDX-License-Identifier: Apache-2.0
// Retold: a request that has been read is told to cpp-httplib once more, as a line of ours, and its
// reply goes out in as few pieces as can be: each wakes the client.
//
// Threads: one.
#pragma once

#include <httplib.h>

#include <string>
#include <string_view>
#include <utility>

namespace aqua::coordinator {

// False when whoever asked is gone.
bool send_all(httplib::Stream& stream, std::string_view text);

class Retold final : public httplib::Stream {
 public:
  // `text` is what is read; `to`, which outlives this, is where the reply goes.
  Retold(std::string text, httplib::Stream& to) : text_(std::move(text)), to_(to) {}

  // Sends what has not been sent. False when nobody is there to read it.
  bool flush();

  bool is_readable() const override { return read_ < text_.size(); }
  bool is_writable() const override { return true; }
  ssize_t read(char* out, std::size_t size) override;
  ssize_t write(const char* bytes, std::size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return to_.socket(); }

 private:
  const std::string text_;
  httplib::Stream& to_;
  std::size_t read_ = 0;
  std::string reply_;  // not sent yet
};

}  // namespace aqua::coordinator
