#include "coordinator/lobby.hpp"

#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>

#include "base/errno_error.hpp"
#include "coordinator/request_head.hpp"

namespace aqua::coordinator {
namespace {

constexpr int kAcceptsAtOnce = 64;  // before those that wait are heard
constexpr std::size_t kReadBytes = 16384;

Result<void> watch(int epoll, int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) return errno_error("epoll_ctl");
  return {};
}

}  // namespace

Result<std::unique_ptr<Lobby>> Lobby::start(UniqueFd listener, const LobbyLimits& limits,
                                            Arrived arrived) {
  UniqueFd stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop.valid()) return errno_error("eventfd");
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return errno_error("epoll_create1");
  for (const int fd : {stop.get(), listener.get()}) {
    if (auto watched = watch(epoll.get(), fd, EPOLLIN); !watched.ok())
      return std::move(watched).error();
  }
  return std::unique_ptr<Lobby>(new Lobby(std::move(listener), std::move(stop), std::move(epoll),
                                          limits, std::move(arrived)));
}

Lobby::Lobby(UniqueFd listener, UniqueFd stop, UniqueFd epoll, const LobbyLimits& limits,
             Arrived arrived)
    : listener_(std::move(listener)),
      stop_(std::move(stop)),
      epoll_(std::move(epoll)),
      limits_(limits),
      arrived_(std::move(arrived)),
      thread_([this] { run(); }) {}

Lobby::~Lobby() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

void Lobby::run() {
  std::array<epoll_event, 256> events{};
  for (;;) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), wait_ms());
    if (count < 0 && errno != EINTR) {
      spdlog::critical("http: {}", errno_error("epoll_wait").message);
      return;
    }
    bool came = false;
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == stop_.get()) return;
      if (fd == listener_.get()) {
        came = true;
      } else if (const auto found = by_fd_.find(fd); found != by_fd_.end()) {
        hear(found->second);
      }
    }
    end_late();
    // Last: a number that was closed above may come back here as another connection's.
    if (came) accept_all();
  }
}

int Lobby::wait_ms() const {
  if (line_.empty()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(line_.front().accepted +
                                                                 limits_.patience - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

void Lobby::accept_all() {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN) return;
      if (line_.empty()) {
        // Descriptors are short and none of them is ours to give up: do not spin on it.
        spdlog::error("http: {}", errno_error("accept").message);
        pollfd stop{stop_.get(), POLLIN, 0};
        ::poll(&stop, 1, 50);
        return;
      }
      make_room("out of descriptors");
      continue;
    }
    if (line_.size() >= limits_.connections) make_room("too many connections wait");
    const int number = fd.get();
    const auto at = line_.insert(line_.end(), {std::move(fd), {}, Clock::now()});
    by_fd_[number] = at;
    // Most have said all by now, and need not be watched.
    hear(at);
    if (!by_fd_.contains(number)) continue;
    if (auto watched = watch(epoll_.get(), number, EPOLLIN); !watched.ok()) {
      spdlog::error("http: {}", watched.error().message);
      leave(at);
    }
  }
}

void Lobby::make_room(const char* why) {
  ++shed_;
  // Once for each doubling: a flood must not fill the log as well.
  if (std::has_single_bit(shed_))
    spdlog::warn("http: {}: the one that waits longest is ended ({} so far)", why, shed_);
  leave(line_.begin());
}

void Lobby::hear(Line::iterator at) {
  std::array<char, kReadBytes> buffer;
  const ssize_t n = ::recv(at->fd.get(), buffer.data(), buffer.size(), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return leave(at);  // no request will come of it
  const std::size_t before = at->text.size();
  at->text.append(buffer.data(), static_cast<std::size_t>(n));
  // The end may straddle what came before.
  const auto end = end_of_head(at->text, before < 3 ? 0 : before - 3);
  if (end && *end <= limits_.head_bytes) return hand_over(at, *end, false);
  if (end || at->text.size() > limits_.head_bytes) hand_over(at, 0, false);
}

void Lobby::hand_over(Line::iterator at, std::size_t head_bytes, bool late) {
  // Not in the set when it has just been accepted.
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, at->fd.get(), nullptr);
  by_fd_.erase(at->fd.get());
  Arrival arrival{std::move(at->fd), std::move(at->text), head_bytes, late, at->accepted};
  line_.erase(at);
  arrived_(std::move(arrival));
}

void Lobby::leave(Line::iterator at) {
  by_fd_.erase(at->fd.get());
  line_.erase(at);  // closing takes it out of the set
}

void Lobby::end_late() {
  const auto now = Clock::now();
  while (!line_.empty() && line_.front().accepted + limits_.patience <= now)
    hand_over(line_.begin(), 0, true);
}

}  // namespace aqua::coordinator
