// SPDX-License-Identifier: Apache-2.0
#include "child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <system_error>

#include "must.hpp"

extern char** environ;

namespace aqua::example {
namespace {

struct Pipe {
  Fd read, write;
};

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Failure("pipe2: " + std::string(std::strerror(errno)));
  return {Fd(ends[0]), Fd(ends[1])};
}

void check(int error, const std::string& doing) {
  if (error != 0) throw Failure(doing + ": " + std::generic_category().message(error));
}

// What posix_spawn() is to do in the child before it executes the program.
class Preparations {
 public:
  Preparations(int input, int output) {
    check(::posix_spawn_file_actions_init(&actions_), "posix_spawn");
    check(::posix_spawnattr_init(&attributes_), "posix_spawn");
    check(::posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO), "posix_spawn");
    check(::posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO), "posix_spawn");
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    check(::posix_spawnattr_setsigmask(&attributes_, &none), "posix_spawn");
    check(::posix_spawnattr_setsigdefault(&attributes_, &all), "posix_spawn");
    const auto flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    check(::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags)), "posix_spawn");
  }
  Preparations(const Preparations&) = delete;
  Preparations& operator=(const Preparations&) = delete;
  ~Preparations() {
    (void)::posix_spawn_file_actions_destroy(&actions_);
    (void)::posix_spawnattr_destroy(&attributes_);
  }

  pid_t spawn(const std::vector<std::string>& arguments) {
    std::vector<char*> argv;
    for (const std::string& argument : arguments)
      argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    pid_t pid = -1;
    check(::posix_spawn(&pid, argv[0], &actions_, &attributes_, argv.data(), environ),
          "cannot start " + arguments.front());
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

ChildProcess::ChildProcess(std::string name, const std::vector<std::string>& arguments)
    : name_(std::move(name)), lines_(-1) {
  Pipe in = make_pipe(), out = make_pipe();
  pid_ = Preparations(in.read.get(), out.write.get()).spawn(arguments);
  pidfd_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  input_ = std::move(in.write);
  (void)::fcntl(input_.get(), F_SETFL, O_WRONLY | O_NONBLOCK);
  output_ = std::move(out.read);
  lines_ = LineReader(output_.get());
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : name_(std::move(other.name_)),
      pid_(std::exchange(other.pid_, -1)),
      status_(other.status_),
      pidfd_(std::move(other.pidfd_)),
      input_(std::move(other.input_)),
      output_(std::move(other.output_)),
      lines_(std::move(other.lines_)) {}

ChildProcess::~ChildProcess() {
  if (pid_ < 0 || status_) return;
  signal(SIGKILL);
  (void)::waitpid(pid_, nullptr, 0);
}

void ChildProcess::signal(int number) noexcept {
  if (pid_ > 0 && !status_) (void)::kill(pid_, number);
}

std::optional<int> ChildProcess::wait(std::chrono::milliseconds patience) {
  if (status_) return status_;
  if (patience.count() > 0 && pidfd_.valid()) {
    pollfd waiting{pidfd_.get(), POLLIN, 0};
    (void)::poll(&waiting, 1, static_cast<int>(patience.count()));
  }
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  return status_;
}

std::string describe_status(int wait_status) {
  if (WIFSIGNALED(wait_status)) return "killed by signal " + std::to_string(WTERMSIG(wait_status));
  return "exited with status " + std::to_string(WEXITSTATUS(wait_status));
}

void throw_ended(ChildProcess& process) {
  const auto status = process.wait(std::chrono::seconds(60));
  throw Failure(process.name() + " " +
                (status ? describe_status(*status) : "closed its output and hangs"));
}

std::string await_line(ChildProcess& process, const std::string& text,
                       std::chrono::seconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < deadline) {
    for (const std::string& line : process.lines().read(std::chrono::milliseconds(100))) {
      if (line.find(text) != std::string::npos) return line;
    }
    if (process.lines().ended()) throw_ended(process);
  }
  throw Failure(process.name() + " does not say '" + text + "'");
}

void die_with_parent(pid_t parent) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) (void)std::raise(SIGKILL);  // it had ended before we asked
}

}  // namespace aqua::example
