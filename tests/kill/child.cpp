// SPDX-License-Identifier: Apache-2.0
#include "tests/kill/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace aqua::kill_test {
namespace {

struct Pipe {
  UniqueFd read_end, write_end;
};

Pipe open_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// In the child, between fork and exec: only calls that are safe there.
[[noreturn]] void become(char* const* argv, int in, int out, int log, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGPIPE, SIG_DFL);  // as an engine has it: the library may not rely on anything else
  if (::getppid() != parent || ::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(log, 2) < 0)
    ::_exit(126);
  ::execv(argv[0], argv);
  ::_exit(127);
}

}  // namespace

Child::Child(const std::vector<std::string>& argv, const std::string& log) {
  ::signal(SIGPIPE, SIG_IGN);
  std::vector<char*> raw;
  for (const std::string& argument : argv) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  Pipe in = open_pipe();
  Pipe out = open_pipe();
  const UniqueFd log_fd(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0 || !log_fd.valid()) std::abort();
  if (pid_ == 0) become(raw.data(), in.read_end.get(), out.write_end.get(), log_fd.get(), parent);
  to_ = std::move(in.write_end);
  from_ = std::move(out.read_end);
}

Child::~Child() {
  kill_and_reap();
}

std::optional<std::string> Child::read_line(std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  for (;;) {
    if (const std::size_t end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd poll_fd{from_.get(), POLLIN, 0};
    if (left.count() <= 0 || ::poll(&poll_fd, 1, static_cast<int>(left.count())) != 1)
      return std::nullopt;
    std::array<char, 4096> buffer{};
    const ssize_t n = ::read(from_.get(), buffer.data(), buffer.size());
    if (n <= 0) return std::nullopt;
    unread_.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

bool Child::write_line(const std::string& line) {
  const std::string text = line + "\n";
  return ::write(to_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

void Child::signal(int number) const {
  if (!dead_) ::kill(pid_, number);
}

void Child::take(int status) {
  if (WIFSTOPPED(status)) stopped_ = true;
  if (WIFCONTINUED(status)) stopped_ = false;
  dead_ = WIFEXITED(status) || WIFSIGNALED(status);
  killed_ = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

void Child::look() {
  int status = 0;
  while (!dead_ && ::waitpid(pid_, &status, WNOHANG | WUNTRACED | WCONTINUED) == pid_) take(status);
}

bool Child::stopped() {
  look();
  return stopped_;
}

bool Child::dead() {
  look();
  return dead_;
}

bool Child::killed() {
  look();
  return killed_;
}

void Child::kill_and_reap() {
  look();
  if (dead_) return;
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (!dead_ && ::waitpid(pid_, &status, 0) == pid_) take(status);
}

}  // namespace aqua::kill_test
