// SPDX-License-Identifier: Apache-2.0
#include "coordinator/http/acceptor.hpp"

#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <new>
#include <utility>

#include "base/errno_error.hpp"
#include "base/try.hpp"
#include "base/wake_event.hpp"
#include "coordinator/http/request_head.hpp"
#include "coordinator/tls/client_hello.hpp"
#include "coordinator/tls/socket_bio.hpp"

namespace aqua::coordinator {
namespace {

constexpr int kAcceptsAtOnce = 64;  // before pending ones are read again
constexpr int kEndsAtOnce = 64;     // likewise
constexpr std::size_t kReadBytes = 16384;

// `events` of poll(), which are epoll's too.
Result<void> watch(int epoll, int operation, int fd, short events) {
  static_assert(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT);
  epoll_event event{};
  event.events = static_cast<std::uint32_t>(events);
  event.data.fd = fd;
  if (::epoll_ctl(epoll, operation, fd, &event) != 0) return errno_error("epoll_ctl");
  return {};
}

bool try_again() {
  return errno == EAGAIN || errno == EINTR;
}

}  // namespace

Result<std::unique_ptr<Acceptor>> Acceptor::start(UniqueFd listener, const AcceptorLimits& limits,
                                                  const TlsIdentity* tls, Arrived arrived) {
  AQUA_ASSIGN(UniqueFd stop, make_wake_event());
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return errno_error("epoll_create1");
  for (const int fd : {stop.get(), listener.get()}) {
    if (auto watched = watch(epoll.get(), EPOLL_CTL_ADD, fd, POLLIN); !watched.ok())
      return std::move(watched).error();
  }
  return std::unique_ptr<Acceptor>(new Acceptor(std::move(listener), std::move(stop),
                                                std::move(epoll), limits, tls, std::move(arrived)));
}

Acceptor::Acceptor(UniqueFd listener, UniqueFd stop, UniqueFd epoll, const AcceptorLimits& limits,
                   const TlsIdentity* tls, Arrived arrived)
    : listener_(std::move(listener)),
      stop_(std::move(stop)),
      epoll_(std::move(epoll)),
      limits_(limits),
      tls_(tls),
      arrived_(std::move(arrived)),
      pace_(limits.process_rate > 0 ? std::optional<Pace>(limits.process_rate) : std::nullopt),
      thread_([this] { run(); }) {}

Acceptor::~Acceptor() {
  signal_event(stop_.get());
  thread_.join();
}

void Acceptor::run() {
  for (;;) {
    try {
      if (!turn()) return;
    } catch (const std::bad_alloc&) {
      // What was not dealt with is reported again.
      if (!pending_.empty()) {
        make_room(pending_.begin(), "out of memory");
      } else {
        pollfd stopped{.fd = stop_.get(), .events = POLLIN, .revents = 0};
        (void)::poll(&stopped, 1, 10);
      }
    }
  }
}

bool Acceptor::turn() {
  std::array<epoll_event, 256> events{};
  const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), wait_ms());
  if (count < 0 && errno != EINTR) {
    spdlog::critical("http: {}", errno_error("epoll_wait").message);
    return false;
  }
  bool came = false;
  for (int i = 0; i < count; ++i) {
    const int fd = events[static_cast<std::size_t>(i)].data.fd;
    if (fd == stop_.get()) return false;
    if (fd == listener_.get()) {
      came = true;
    } else if (const auto found = by_fd_.find(fd); found != by_fd_.end()) {
      read_some(found->second);
      watch_for_more(fd);
    }
  }
  end_expired();
  let_in_due();
  // Last: a number that was closed above may come back here as another connection's.
  if (came) accept_some();
  return true;
}

int Acceptor::wait_ms() const {
  if (pending_.empty() && held_.empty()) return -1;
  auto next = Clock::time_point::max();
  if (!pending_.empty()) next = pending_.front().accepted + limits_.head_timeout;
  if (!held_.empty()) next = std::min(next, held_.begin()->first);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

void Acceptor::accept_some() {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) {
      if (errno == EAGAIN) return;
      // Others are the new connection's own, which ended in the queue (accept(2)).
      if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) continue;
      if (pending_.empty()) {
        // Descriptors are short and none of them is ours to give up: do not spin on it.
        spdlog::error("http: {}", errno_error("accept").message);
        pollfd stop{stop_.get(), POLLIN, 0};
        ::poll(&stop, 1, 50);
        return;
      }
      make_room(pending_.begin(), "out of descriptors");
      continue;
    }
    if (!hold_back(fd)) let_in(std::move(fd));
  }
}

bool Acceptor::hold_back(UniqueFd& fd) {
  if (!pace_) return false;
  const auto now = Clock::now();
  const auto turn = pace_->turn_of_peer(fd.get(), now);
  if (turn && *turn <= now) return false;
  if (turn && held_.size() < limits_.connections) {
    held_.emplace(*turn, std::move(fd));
  } else {
    tell_shed("a process makes too many connections");
    fd.reset();
  }
  return true;
}

void Acceptor::let_in_due() {
  while (!held_.empty() && held_.begin()->first <= Clock::now())
    let_in(std::move(held_.extract(held_.begin()).mapped()));
}

void Acceptor::let_in(UniqueFd fd) {
  if (pending_.size() >= limits_.connections)
    make_room(pending_.begin(), "too many pending connections");
  const int number = fd.get();
  const auto at = pending_.insert(
      pending_.end(), {Channel(std::move(fd)), {}, Clock::now(), /*open=*/tls_ == nullptr});
  by_fd_[number] = at;
  // Most have sent their whole request by now, and need not be watched.
  read_some(at);
  watch_for_more(number);
}

void Acceptor::watch_for_more(int fd) {
  const auto found = by_fd_.find(fd);
  if (found == by_fd_.end()) return;
  Pending& pending = *found->second;
  const short wants = pending.channel.wants();
  if (pending.watched == wants) return;
  const int operation = pending.watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  if (auto watched = watch(epoll_.get(), operation, fd, wants); !watched.ok()) {
    spdlog::error("http: {}", watched.error().message);
    return close(found->second);
  }
  pending.watched = wants;
}

void Acceptor::make_room(Pendings::iterator at, const char* why) {
  tell_shed(why);
  close(at);
}

void Acceptor::tell_shed(const char* why) {
  ++shed_;
  // Once for each doubling: a flood must not fill the log as well.
  if (std::has_single_bit(shed_)) spdlog::warn("http: {}: one is closed ({} so far)", why, shed_);
}

bool Acceptor::append(Pending& pending, std::string_view bytes) {
  try {
    pending.text.append(bytes);
  } catch (const std::bad_alloc&) {
    return false;  // a head with a gap must not be read on
  }
  bytes_ += bytes.size();
  return true;
}

void Acceptor::read_some(Pendings::iterator at) {
  if (!at->open && !begin_tls(at)) return;
  // A TLS record fits: none of it stays behind where the set would not see it.
  std::array<char, kReadBytes> buffer;
  const ssize_t n = at->channel.receive(buffer.data(), buffer.size());
  if (n < 0 && try_again()) return;
  if (n <= 0) return close(at);  // no request will come of it
  const std::size_t before = at->text.size();
  if (!append(*at, {buffer.data(), static_cast<std::size_t>(n)})) return close(at);
  // The end may straddle what came before.
  const auto end = end_of_head(at->text, before < 3 ? 0 : before - 3);
  if (end && *end <= limits_.head_bytes) return hand_over(at, Progress::head);
  if (end || at->text.size() > limits_.head_bytes) return hand_over(at, Progress::head_too_long);
  if (bytes_ <= limits_.pending_bytes) return;
  // The oldest of those that have sent most.
  make_room(std::ranges::max_element(pending_, {}, [](const Pending& p) { return p.text.size(); }),
            "too many bytes of unfinished requests");
}

bool Acceptor::begin_tls(Pendings::iterator at) {
  std::array<char, kHelloHeadBytes> buffer;
  const ssize_t n = ::recv(at->channel.fd(), buffer.data(), buffer.size() - at->text.size(), 0);
  if (n < 0 && try_again()) return false;
  if (n <= 0 || !append(*at, {buffer.data(), static_cast<std::size_t>(n)})) {
    close(at);
    return false;
  }
  const Greeting greeting = greeting_of(at->text);
  if (greeting == Greeting::unfinished) return false;
  if (greeting == Greeting::other) {
    hand_over(at, Progress::not_tls);
    return false;
  }
  bytes_ -= at->text.size();
  tls::UniqueSsl ssl = tls_->accept(socket_bio(at->channel.fd(), std::exchange(at->text, {})));
  if (ssl == nullptr) {
    spdlog::error("http: {}", tls::tls_error("a TLS connection").message);
    close(at);
    return false;
  }
  at->channel.secure(std::move(ssl));
  at->open = true;
  return true;
}

void Acceptor::hand_over(Pendings::iterator at, Progress progress) {
  // Not in the set when it has just been accepted.
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, at->channel.fd(), nullptr);
  by_fd_.erase(at->channel.fd());
  bytes_ -= at->text.size();
  Arrival arrival{std::move(at->channel), std::move(at->text), progress, at->accepted};
  pending_.erase(at);
  arrived_(std::move(arrival));
}

void Acceptor::close(Pendings::iterator at) {
  by_fd_.erase(at->channel.fd());
  bytes_ -= at->text.size();
  pending_.erase(at);  // closing takes it out of the set
}

void Acceptor::end_expired() {
  const auto now = Clock::now();
  for (int i = 0; i < kEndsAtOnce && !pending_.empty(); ++i) {
    const Pending& oldest = pending_.front();
    if (oldest.accepted + limits_.head_timeout > now) return;
    // Who has asked for nothing is told nothing; and a refusal would have to shake hands first.
    if (!oldest.text.empty() && oldest.open && oldest.channel.is_open()) {
      hand_over(pending_.begin(), Progress::timed_out);
    } else {
      close(pending_.begin());
    }
  }
}

}  // namespace aqua::coordinator
