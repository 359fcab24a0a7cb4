// SPDX-License-Identifier: Apache-2.0
#include "tests/coordinator/etcd/slow_proxy.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <iterator>
#include <utility>
#include <vector>

#include "base/concat.hpp"

namespace aqua::testing {
namespace {

enum class End : std::uint8_t { open, closed };

// Takes in what is there now.
End read_all(int fd, std::string& into) {
  std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got == 0) return End::closed;
    if (got < 0) return errno == EAGAIN || errno == EINTR ? End::open : End::closed;
    into.append(buffer.data(), static_cast<std::size_t>(got));
  }
}
// Sends what etcd or curl said: a few kilobytes, which a socket takes at once.
void write_all(int fd, std::string& from) {
  while (!from.empty()) {
    const ssize_t put = ::send(fd, from.data(), from.size(), MSG_NOSIGNAL);
    if (put <= 0) break;
    from.erase(0, static_cast<std::size_t>(put));
  }
  from.clear();
}

UniqueFd connect_to(int port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return {};
  return fd;
}

}  // namespace

SlowProxy::SlowProxy(const std::string& url)
    : etcd_port_(std::stoi(url.substr(url.rfind(':') + 1))), thread_([this] { run(); }) {}

SlowProxy::~SlowProxy() {
  {
    const MutexLock lock(mu_);
    stop_ = true;
  }
  signal_event(wake_.get());
  thread_.join();
}

std::string SlowProxy::url() const {
  return concat("http://127.0.0.1:", listener_.port);
}

void SlowProxy::hold(Holds what) {
  {
    const MutexLock lock(mu_);
    holds_ = what;
  }
  signal_event(wake_.get());
}

std::uint64_t SlowProxy::given_up() const {
  const MutexLock lock(mu_);
  std::uint64_t count = unheard_;
  for (const Pair& pair : pairs_) count += pair.client.valid() || pair.to_server.empty() ? 0U : 1U;
  return count;
}

std::uint64_t SlowProxy::late() const {
  const MutexLock lock(mu_);
  return late_;
}

void SlowProxy::run() {
  for (;;) {
    std::vector<pollfd> watched{{wake_.get(), POLLIN, 0}, {listener_.fd.get(), POLLIN, 0}};
    {
      const MutexLock lock(mu_);
      if (stop_) return;
      for (const Pair& pair : pairs_) {
        if (pair.client.valid()) watched.push_back({pair.client.get(), POLLIN, 0});
        watched.push_back({pair.server.get(), POLLIN, 0});
      }
    }
    (void)::poll(watched.data(), watched.size(), -1);
    clear_event(wake_.get());
    if (watched[1].revents != 0) accept();
    const MutexLock lock(mu_);
    for (auto at = pairs_.begin(); at != pairs_.end();) {
      at = move(*at) ? std::next(at) : pairs_.erase(at);
    }
  }
}

void SlowProxy::accept() {
  UniqueFd client(::accept4(listener_.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
  UniqueFd server = connect_to(etcd_port_);
  if (!client.valid() || !server.valid()) return;
  const MutexLock lock(mu_);
  pairs_.push_back({.client = std::move(client), .server = std::move(server)});
}

bool SlowProxy::move(Pair& pair) {
  const bool is_over = read_all(pair.server.get(), pair.to_client) == End::closed;
  if (pair.client.valid() && read_all(pair.client.get(), pair.to_server) == End::closed) {
    pair.client.reset();
    if (!pair.to_client.empty()) ++unheard_;
    if (pair.to_server.empty()) return false;  // nothing of it is under way
  }
  const bool gave_up = !pair.client.valid();
  if (gave_up && pair.to_server.empty() && !pair.to_client.empty()) {
    ++late_;
    return false;
  }
  if (holds_ != Holds::requests) write_all(pair.server.get(), pair.to_server);
  if (!gave_up && holds_ != Holds::replies) write_all(pair.client.get(), pair.to_client);
  return !is_over;
}

}  // namespace aqua::testing
