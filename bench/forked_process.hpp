// SPDX-License-Identifier: Apache-2.0
// A child of a benchmark that answers messages over two pipes, and dies with it.
#pragma once

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

namespace aqua::bench {

class ForkedProcess {
 public:
  // Forks: before this process has threads, and before it opens a device. The child runs
  // serve(in, out), which returns when `in` has ended.
  template <typename Serve>
  explicit ForkedProcess(const Serve& serve) {
    int to[2], from[2];
    if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0)
      std::exit((std::perror("pipe"), 1));
    pid_ = ::fork();
    if (pid_ < 0) std::exit((std::perror("fork"), 1));
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::close(to[1]);
      ::close(from[0]);
      serve(to[0], from[1]);
      std::_Exit(0);
    }
    ::close(to[0]);
    ::close(from[1]);
    to_ = to[1];
    from_ = from[0];
  }
  // Tells the child to leave, and waits until it has.
  ~ForkedProcess() {
    ::close(to_);
    ::waitpid(pid_, nullptr, 0);
    ::close(from_);
  }
  ForkedProcess(const ForkedProcess&) = delete;
  ForkedProcess& operator=(const ForkedProcess&) = delete;

  // Whether all of it went, or came. At most PIPE_BUF bytes, which go in one piece.
  template <typename T>
  [[nodiscard]] bool send(const T& message) {
    static_assert(std::is_trivially_copyable_v<T>);
    return ::write(to_, &message, sizeof message) == sizeof message;
  }
  template <typename T>
  [[nodiscard]] bool receive(T& message) {
    static_assert(std::is_trivially_copyable_v<T>);
    return ::read(from_, &message, sizeof message) == sizeof message;
  }

 private:
  int to_ = -1, from_ = -1;
  pid_t pid_ = 0;
};

}  // namespace aqua::bench
