// SPDX-License-Identifier: Apache-2.0
#include "hosts/namespaces.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "fd.hpp"
#include "json_lines.hpp"
#include "must.hpp"

namespace aqua::pipeline {
namespace {

using example::Failure;
using example::Fd;

constexpr int kNamespaces = CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNS;

void check(int result, const std::string& doing) {
  if (result < 0) throw Failure("--hosts: " + doing + ": " + std::strerror(errno));
}

pid_t fork_child() {
  const pid_t child = ::fork();
  check(child, "fork");
  return child;
}

Fd pidfd_of(pid_t process) {
  return Fd(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
}

// The child of a process in an outer namespace: getppid() is 0 whether that lives or not. `parent`:
// its pidfd, which is readable once it has ended.
void die_with_outer_parent(int parent) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd gone{parent, POLLIN, 0};
  if (::poll(&gone, 1, 0) != 0) ::_exit(EXIT_FAILURE);
}

int end_as(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  (void)std::signal(WTERMSIG(status), SIG_DFL);
  (void)std::raise(WTERMSIG(status));
  return EXIT_FAILURE;
}

void hide_other_hosts(const std::filesystem::path& folder) {
  const Fd own(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  check(own.get(), folder);
  const std::filesystem::path all = folder.parent_path();
  check(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "mount /");
  check(::mount("tmpfs", all.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700"),
        "mount " + all.native());
  std::filesystem::create_directory(folder);
  const std::string from = "/proc/self/fd/" + std::to_string(own.get());
  check(::mount(from.c_str(), folder.c_str(), nullptr, MS_BIND, nullptr),
        "mount " + folder.native());
  check(::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr), "mount /proc");
}

// Its number in its own namespace is 1: only SIGKILL from outside ends it, and then the kernel
// kills all others.
[[noreturn]] void be_the_first(const std::string& name, const std::filesystem::path& folder,
                               int parent, int ready) {
  die_with_outer_parent(parent);
  check(::sethostname(name.data(), name.size()), "sethostname");
  hide_other_hosts(folder);
  (void)std::signal(SIGCHLD, SIG_IGN);                    // who loses its parent is reaped here
  if (::write(ready, "", 1) != 1) ::_exit(EXIT_FAILURE);  // the caller has been killed meanwhile
  ::close(ready);
  ::close(parent);
  for (;;) ::pause();
}

pid_t child_in_host = 0;

extern "C" void kill_child(int /*signal*/) {
  if (child_in_host > 0) (void)::kill(child_in_host, SIGKILL);
}

}  // namespace

void leave_the_network() {
  check(::unshare(CLONE_NEWNET), "a network of its own (unshare, as root)");
}

int become_host(const std::string& name, const std::filesystem::path& folder) {
  std::array<int, 2> ends{};
  check(::pipe2(ends.data(), O_CLOEXEC), "pipe2");
  Fd read(ends[0]), write(ends[1]);
  const Fd self = pidfd_of(::getpid());
  check(self.get(), "pidfd_open");
  check(::unshare(kNamespaces), "namespaces of its own (unshare, as root)");
  const pid_t first = fork_child();
  if (first == 0) be_the_first(name, folder, self.get(), write.get());
  write.reset();
  char byte = 0;
  if (::read(read.get(), &byte, 1) == 1)
    (void)example::write_line(STDOUT_FILENO, nlohmann::json{{"host", first}});
  return end_as(first);
}

void enter_host(pid_t first) {
  const Fd host = pidfd_of(first), self = pidfd_of(::getpid());
  check(host.get(), "the host has ended");
  check(self.get(), "pidfd_open");
  check(::setns(host.get(), kNamespaces), "setns");
  sigset_t term, before;
  ::sigemptyset(&term);
  ::sigaddset(&term, SIGTERM);
  (void)::sigprocmask(SIG_BLOCK, &term, &before);
  child_in_host = fork_child();
  if (child_in_host > 0) {
    (void)std::signal(SIGTERM, kill_child);
    (void)::sigprocmask(SIG_SETMASK, &before, nullptr);
    ::close(STDIN_FILENO);
    ::close(STDOUT_FILENO);  // its end is the child's
    ::_exit(end_as(child_in_host));
  }
  (void)::sigprocmask(SIG_SETMASK, &before, nullptr);
  die_with_outer_parent(self.get());
}

}  // namespace aqua::pipeline
