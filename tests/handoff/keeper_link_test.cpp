// SPDX-License-Identifier: Apache-2.0
// How the thread ends by which a member speaks to its keeper.
#include "handoff/keeper_link.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <future>
#include <memory>

#include "base/unique_fd.hpp"
#include "base/wake_event.hpp"

namespace aqua {
namespace {

using namespace std::chrono_literals;

class KeeperLinks : public ::testing::Test {
 protected:
  KeeperLinks() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    member_ = UniqueFd(ends[0]);
    keeper_ = UniqueFd(ends[1]);
    link_ = KeeperLink::make(member_.get(), make_wake_event().value()).value();
  }
  // Does this once, on the thread, and has begun when this returns.
  template <typename Work>
  void begin(Work work) {
    const auto begun = std::make_shared<std::promise<void>>();
    link_->start({.turn =
                      [begun, work, first = true](bool /*ending*/) mutable {
                        if (!first) return KeeperLink::Turn::idle;
                        first = false;
                        begun->set_value();
                        work();
                        return KeeperLink::Turn::asked;
                      },
                  .woken = [] {},
                  .closed = [] {}});
    begun->get_future().wait();
  }

  UniqueFd member_, keeper_;
  std::unique_ptr<KeeperLink> link_;
};

TEST_F(KeeperLinks, WaitAtTheirEndForWhatTheyDoBesideTheKeeper) {
  bool shut = false;
  begin([&] {
    pollfd polled{member_.get(), POLLIN | POLLRDHUP, 0};
    shut = ::poll(&polled, 1, 100) != 0;
  });
  link_->stop(0ms);
  EXPECT_FALSE(shut) << "nothing was asked that a keeper has not answered";
}

TEST_F(KeeperLinks, DoNotWaitAtTheirEndForAKeeperThatDoesNotAnswer) {
  ssize_t received = -1;
  begin([&] {
    received = link_->ask([&] {
      char answer = 0;
      return ::recv(member_.get(), &answer, 1, 0);
    });
  });
  link_->stop(0ms);
  EXPECT_EQ(received, 0) << "the connection is shut down";
}

}  // namespace
}  // namespace aqua
