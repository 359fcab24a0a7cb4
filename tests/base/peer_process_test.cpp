// SPDX-License-Identifier: Apache-2.0
// Processes at the other end of a socket that are of another pid namespace, as those of other
// containers are.
#include "base/socket/peer_process.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>

#include "base/socket/unix_socket.hpp"
#include "tests/base/temp_dir.hpp"

namespace aqua {
namespace {

// Statuses of a child that could not check.
constexpr int kNoNamespace = 77, kOldKernel = 78;

// Runs `check` as the first process of a pid namespace of its own; what it returned.
int elsewhere(const std::function<int()>& check) {
  const pid_t outer = ::fork();
  if (outer == 0) {
    if (::unshare(CLONE_NEWPID | (::geteuid() == 0 ? 0 : CLONE_NEWUSER)) != 0)
      ::_exit(kNoNamespace);
    const pid_t inner = ::fork();
    if (inner == 0) ::_exit(check());
    int status = 0;
    ::_exit(::waitpid(inner, &status, 0) == inner && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(outer, &status, 0), outer);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

// A process that has connected twice, and ends when it is told.
class Caller {
 public:
  explicit Caller(const std::string& path) {
    const UniqueFd listener = listen_seqpacket(path).value();
    std::array<int, 2> gate{};
    EXPECT_EQ(::pipe(gate.data()), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(gate[1]);
      const auto one = connect_seqpacket(path), two = connect_seqpacket(path);
      char byte = 0;
      (void)!::read(gate[0], &byte, 1);
      ::_exit(0);
    }
    read_end_ = UniqueFd(gate[0]);  // so that a second word to it is no SIGPIPE
    gate_ = UniqueFd(gate[1]);
    for (UniqueFd& socket : sockets_) {
      pollfd waits{listener.get(), POLLIN, 0};
      EXPECT_EQ(::poll(&waits, 1, 60'000), 1);
      socket = accept_seqpacket(listener.get()).value();
    }
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  ~Caller() {
    tell_to_end();
    EXPECT_EQ(::waitpid(pid_, nullptr, 0), pid_);
  }

  [[nodiscard]] int socket(std::size_t which) const { return sockets_[which].get(); }
  void tell_to_end() const { EXPECT_EQ(::write(gate_.get(), "", 1), 1); }

 private:
  UniqueFd read_end_, gate_;
  std::array<UniqueFd, 2> sockets_;
  pid_t pid_ = -1;
};

class PeerElsewhere : public ::testing::Test {
 protected:
  // `check` is told of no failure but by what it returns, 0 for success.
  static void expect_elsewhere(const std::function<int()>& check) {
    const int outcome = elsewhere(check);
    if (outcome == kNoNamespace) GTEST_SKIP() << "no pid namespace may be made here";
    if (outcome == kOldKernel) GTEST_SKIP() << "this kernel is older than Linux 6.9";
    EXPECT_EQ(outcome, 0);
  }
  static Result<PeerProcess> of(int socket) {
    auto peer = PeerProcess::of_socket(socket, PidNamespace::any);
    if (!peer.ok() && peer.error().code == Code::unimplemented) ::_exit(kOldKernel);
    return peer;
  }

  testing::TempDir dir_;
  Caller a_{dir_ / "a"};
  Caller b_{dir_ / "b"};
};

TEST_F(PeerElsewhere, IsTheSameOverEachOfItsConnectionsAndNobodyElse) {
  expect_elsewhere([&] {
    const auto one = of(a_.socket(0)), again = of(a_.socket(1)), other = of(b_.socket(0));
    if (!one.ok() || !again.ok() || !other.ok()) return 2;
    if (one->pid() != 0) return 3;
    if (!one->same_process(*again)) return 4;
    return one->same_process(*other) ? 5 : 0;
  });
}

TEST_F(PeerElsewhere, IsProvenDeadOnceItHasEnded) {
  expect_elsewhere([&] {
    const auto peer = of(a_.socket(0));
    if (!peer.ok()) return 2;
    if (peer->proven_dead()) return 3;
    a_.tell_to_end();
    pollfd ends{peer->pidfd(), POLLIN, 0};
    if (::poll(&ends, 1, 60'000) != 1) return 4;
    if (!peer->proven_dead()) return 5;
    const auto late = of(a_.socket(1));
    return !late.ok() && late.error().code == Code::unavailable ? 0 : 6;
  });
}

TEST_F(PeerElsewhere, IsRefusedWhereItsDeathMustBeProvenAfterARestart) {
  expect_elsewhere([&] {
    const auto peer = PeerProcess::of_socket(a_.socket(0));
    return !peer.ok() && peer.error().code == Code::failed_precondition ? 0 : 2;
  });
}

TEST_F(PeerElsewhere, HasItsNumberWhereItIsSeen) {
  const auto any = PeerProcess::of_socket(a_.socket(0), PidNamespace::any);
  const auto ours = PeerProcess::of_socket(a_.socket(1));
  ASSERT_TRUE(any.ok() && ours.ok());
  EXPECT_NE(any->pid(), 0);
  EXPECT_TRUE(any->same_process(*ours));
}

}  // namespace
}  // namespace aqua
