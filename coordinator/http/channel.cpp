// SPDX-License-Identifier: Apache-2.0
#include "coordinator/http/channel.hpp"

#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "coordinator/tls/socket_bio.hpp"

namespace aqua::coordinator {
namespace {

int as_int(std::size_t size) {
  return static_cast<int>(std::min(size, std::size_t{INT_MAX}));
}

}  // namespace

Channel::Channel(UniqueFd fd) : fd_(std::move(fd)), wants_(POLLIN) {}

bool Channel::is_open() const {
  return ssl_ == nullptr || (!broken_ && ::SSL_is_init_finished(ssl_.get()) == 1);
}

ssize_t Channel::receive(char* out, std::size_t size) {
  wants_ = POLLIN;
  if (ssl_ == nullptr) return ::recv(fd_.get(), out, size, 0);
  ::ERR_clear_error();                   // or an older error would be taken for this call's
  constexpr std::size_t kAtOnce = 8192;  // half of the largest record, 300 of the smallest
  allow_reading(::SSL_get_rbio(ssl_.get()), kAtOnce);
  return outcome(::SSL_read(ssl_.get(), out, as_int(size)));
}

ssize_t Channel::send(const char* bytes, std::size_t size) {
  wants_ = POLLOUT;
  if (ssl_ == nullptr) return ::send(fd_.get(), bytes, size, MSG_NOSIGNAL);
  ::ERR_clear_error();
  return outcome(::SSL_write(ssl_.get(), bytes, as_int(size)));
}

ssize_t Channel::outcome(int result) {
  if (result > 0) return result;
  switch (::SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      wants_ = POLLIN;
      errno = EAGAIN;
      return -1;
    case SSL_ERROR_WANT_WRITE:
      wants_ = POLLOUT;
      errno = EAGAIN;
      return -1;
    case SSL_ERROR_ZERO_RETURN:
      return 0;
    case SSL_ERROR_SYSCALL:
      errno = ECONNRESET;
      break;
    default:
      errno = EPROTO;
      break;
  }
  broken_ = true;
  ::ERR_clear_error();
  return -1;
}

bool Channel::end() {
  if (ssl_ == nullptr || !is_open()) return true;
  ::ERR_clear_error();
  const int result = ::SSL_shutdown(ssl_.get());  // 0: said, and not answered yet
  if (result >= 0) return true;
  return outcome(result) >= 0 || errno != EAGAIN;
}

}  // namespace aqua::coordinator
