// SPDX-License-Identifier: Apache-2.0
#include "coordinator/http/retold.hpp"

namespace aqua::coordinator {
namespace {

constexpr std::size_t kReplyAtOnce = std::size_t{64} << 10;  // bytes sent by one call

}  // namespace

bool send_all(httplib::Stream& stream, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = stream.write(text.data(), text.size());
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool Retold::flush() {
  const bool sent = send_all(to_, reply_);
  reply_.clear();
  return sent;
}

ssize_t Retold::read(char* out, std::size_t size) {
  const std::size_t taken = text_.copy(out, size, read_);
  read_ += taken;
  return static_cast<ssize_t>(taken);
}

ssize_t Retold::write(const char* bytes, std::size_t size) {
  reply_.append(bytes, size);
  if (reply_.size() >= kReplyAtOnce && !flush()) return -1;
  return static_cast<ssize_t>(size);
}

void Retold::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}
void Retold::get_local_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

}  // namespace aqua::coordinator
