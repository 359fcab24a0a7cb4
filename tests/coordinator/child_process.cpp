// SPDX-License-Identifier: Apache-2.0
#include "tests/coordinator/child_process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace aqua::testing {
namespace {

constexpr int kPatienceMs = 60'000;

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& arguments,
                           const std::string& stderr_path) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  int pipe_fds[2];
  if (::pipe2(pipe_fds, O_CLOEXEC) != 0) {
    ADD_FAILURE() << "pipe2 failed";
    return;
  }
  stdout_ = UniqueFd(pipe_fds[0]);
  const UniqueFd write_end(pipe_fds[1]);
  pid_ = ::fork();
  if (pid_ != 0) return;
  // Only async-signal-safe calls from here: other threads may have held locks.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(write_end.get(), STDOUT_FILENO);
  if (!stderr_path.empty()) {
    const int fd = ::open(stderr_path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd >= 0) ::dup2(fd, STDERR_FILENO);
  }
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      status_(other.status_),
      stdout_(std::move(other.stdout_)),
      buffer_(std::move(other.buffer_)) {}

ChildProcess::~ChildProcess() {
  if (pid_ <= 0) return;
  signal(SIGKILL);
  wait();
}

void ChildProcess::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

void ChildProcess::stop() const {
  signal(SIGSTOP);
  int status = 0;
  while (::waitpid(pid_, &status, WUNTRACED) < 0 && errno == EINTR) {
  }
}

bool ChildProcess::has_stopped() const {
  siginfo_t stopped{};
  return ::waitid(P_PID, static_cast<id_t>(pid_), &stopped, WSTOPPED | WNOHANG) == 0 &&
         stopped.si_pid == pid_;
}

std::string ChildProcess::read_line() {
  for (;;) {
    if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    pollfd poll_fd{stdout_.get(), POLLIN, 0};
    if (::poll(&poll_fd, 1, kPatienceMs) <= 0) return {};
    std::array<char, 512> bytes{};
    const ssize_t n = ::read(stdout_.get(), bytes.data(), bytes.size());
    if (n <= 0) return {};
    buffer_.append(bytes.data(), static_cast<std::size_t>(n));
  }
}

int ChildProcess::wait() {
  if (pid_ <= 0) return status_;
  int raw = 0;
  ::waitpid(pid_, &raw, 0);
  pid_ = -1;
  status_ = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
  return status_;
}

}  // namespace aqua::testing
