#include "coordinator/http_server.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/errno_error.hpp"

#if defined(__SANITIZE_THREAD__)
// A system's cpp-httplib is not instrumented: ThreadSanitizer sees the memcmp() on its
// function-local statics, but not the guard that orders it. Only what the library itself
// calls is left out; our handlers, which it calls, are not.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions();
const char* __tsan_default_suppressions() {
  return "called_from_lib:libcpp-httplib.so\n";
}
#endif

namespace aqua::coordinator {
namespace {

// The library would read a DELETE without a length until the client closes.
void mend(httplib::Request& request) {
  if (request.method == "DELETE" && !request.has_header("Content-Length") &&
      !request.has_header("Transfer-Encoding")) {
    request.set_header("Content-Length", "0");
  }
}

// process_request() got the addresses as arguments in later versions of the library.
template <typename Process>
void process_one(Process process, httplib::Stream& stream) {
  bool closed = false;
  const std::function<void(httplib::Request&)> setup = mend;
  if constexpr (requires { process(stream, true, closed, setup); }) {
    process(stream, true, closed, setup);
  } else {
    const std::string no_address;
    process(stream, no_address, 0, no_address, 0, true, closed, setup);
  }
}

}  // namespace

HttpServer::HttpServer(HttpOptions options) : options_(options) {}

HttpServer::~HttpServer() {
  HttpServer::stop();
}

Result<void> HttpServer::start(UniqueFd listener) {
  stop_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop_.valid()) return errno_error("eventfd");
  listener_ = std::move(listener);
  pool_ = std::make_unique<ThreadPool>(options_.max_threads, options_.max_waiting,
                                       std::chrono::seconds{10});
  acceptor_ = std::thread([this] { accept_until_stopped(); });
  return {};
}

void HttpServer::stop() {
  if (!acceptor_.joinable()) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(stop_.get(), &one, sizeof one);
  acceptor_.join();
  listener_.reset();
  {
    MutexLock lock(mu_);
    stopping_ = true;
    // Requests end here; replies under way may finish, for a moment.
    for (const int fd : serving_) ::shutdown(fd, SHUT_RD);
    const auto patience = std::chrono::steady_clock::now() + options_.stop_patience;
    while (!serving_.empty() && served_.wait_until(mu_, patience)) continue;
    for (const int fd : serving_) ::shutdown(fd, SHUT_RDWR);
  }
  pool_.reset();
}

void HttpServer::accept_until_stopped() {
  for (;;) {
    pollfd fds[] = {{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    if (::poll(fds, 2, -1) < 0 && errno != EINTR) {
      spdlog::critical("http: {}", errno_error("poll").message);
      return;
    }
    if (fds[0].revents != 0) return;
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) {
      if (errno == EMFILE || errno == ENFILE) {
        spdlog::error("http: {}", errno_error("accept").message);
        ::poll(fds, 1, 50);  // the connection stays queued: do not spin on it
      }
      continue;
    }
    // std::function wants to be copied, a UniqueFd must not be: the number travels.
    const int number = fd.release();
    if (!pool_->run([this, number] { serve(UniqueFd(number)); })) {
      spdlog::warn("http: too many requests wait; a connection is closed");
      ::close(number);
    }
  }
}

void HttpServer::serve(UniqueFd fd) {
  {
    MutexLock lock(mu_);
    if (stopping_) return;
    serving_.insert(fd.get());
  }
  const int on = 1;
  // Fails on a Unix socket, which needs it not.
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  {
    Connection connection(fd.get(), options_.connection);
    process_one([this](auto&&... args) -> decltype(this->process_request(
                                           args...)) { return process_request(args...); },
                connection);
    connection.finish();
  }
  MutexLock lock(mu_);
  serving_.erase(fd.get());
  fd.reset();  // under the lock: stop() must not meet the number again
  served_.notify_all();
}

}  // namespace aqua::coordinator
