// SPDX-License-Identifier: Apache-2.0
#include "coordinator/tls/socket_bio.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace aqua::coordinator {
namespace {

struct Wire {
  int fd;
  std::string first;          // read before
  std::size_t told = 0;       // bytes of it
  std::size_t allowance = 0;  // to read
};

Wire& wire_of(BIO* bio) {
  return *static_cast<Wire*>(::BIO_get_data(bio));
}

bool again() {
  return errno == EAGAIN || errno == EINTR;
}

int read(BIO* bio, char* out, int size) {
  BIO_clear_retry_flags(bio);
  Wire& wire = wire_of(bio);
  const std::size_t room = std::min(static_cast<std::size_t>(size), wire.allowance);
  if (room == 0) {
    BIO_set_retry_read(bio);
    return -1;
  }
  if (const std::size_t n = std::min(room, wire.first.size() - wire.told); n > 0) {
    wire.first.copy(out, n, wire.told);
    wire.told += n;
    wire.allowance -= n;
    return static_cast<int>(n);
  }
  const ssize_t n = ::recv(wire.fd, out, room, 0);
  if (n < 0 && again()) BIO_set_retry_read(bio);
  if (n > 0) wire.allowance -= static_cast<std::size_t>(n);
  return static_cast<int>(n);
}

int write(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t n = ::send(wire_of(bio).fd, bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (n < 0 && again()) BIO_set_retry_write(bio);
  return static_cast<int>(n);
}

long control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

int destroy(BIO* bio) {
  delete static_cast<Wire*>(::BIO_get_data(bio));
  return 1;
}

// Lives as long as the process: every BIO refers to it.
const BIO_METHOD* make_method() {
  BIO_METHOD* const method =
      ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "aqua socket");
  if (method == nullptr) return nullptr;
  ::BIO_meth_set_read(method, read);
  ::BIO_meth_set_write(method, write);
  ::BIO_meth_set_ctrl(method, control);
  ::BIO_meth_set_destroy(method, destroy);
  return method;
}

}  // namespace

tls::UniqueBio socket_bio(int fd, std::string first) {
  static const BIO_METHOD* const method = make_method();
  tls::UniqueBio bio(method == nullptr ? nullptr : ::BIO_new(method));
  if (bio == nullptr) return nullptr;
  ::BIO_set_data(bio.get(), new Wire{fd, std::move(first)});
  ::BIO_set_init(bio.get(), 1);
  return bio;
}

void allow_reading(BIO* bio, std::size_t bytes) {
  wire_of(bio).allowance = bytes;
}

}  // namespace aqua::coordinator
