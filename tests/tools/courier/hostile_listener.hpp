// SPDX-License-Identifier: Apache-2.0
// One who listens where the courier of `b` did, with its certificate, and is no courier. That of
// `a` runs in this process, so that what it says is heard.
//
// Threads: one; what the courier says comes by its own.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "base/wake_event.hpp"
#include "tests/tools/courier/two_servers.hpp"
#include "tools/courier/courier.hpp"
#include "tools/courier/net/link.hpp"
#include "tools/courier/net/sockets.hpp"
#include "tools/courier/options.hpp"

namespace aqua::courier {

class HostileListener {
 public:
  // In the place of both couriers.
  explicit HostileListener(test::TwoServers& servers) : servers_(servers) {
    (void)::signal(SIGPIPE, SIG_IGN);
    servers_.kill_a();
    servers_.kill_b();
    listener_ = listen_at("127.0.0.1:" + servers_.port()).value();
    identity_ = MutualTls::load({{servers_.path("b.pem"), servers_.path("b.key")},
                                 servers_.path("authority.pem")})
                    .value();
    courier_ =
        Courier::start(read_options(servers_.path("a.json")).value(), [this](
                                                                          Event,
                                                                          const std::string& what) {
          const MutexLock lock(mu_);
          said_.push_back(what);
          news_.notify_all();
        }).value();
  }
  // The next connection, with its hello read, which is hello() then.
  [[nodiscard]] Link accept() {
    const std::vector<std::string> names{"a.test"};
    Link link = Link::accept(*identity_, accept_next(listener_.get(), never_.get()).value(), names,
                             never_.get())
                    .value();
    hello_ = heard(link);
    EXPECT_TRUE(link.say(Welcome{}).ok());
    return link;
  }
  [[nodiscard]] const Message& hello() const { return hello_; }
  // What the courier says next; Welcome, which it never says, where nothing comes any more, or
  // bytes.
  static Message heard(Link& link) {
    auto frame = link.receive();
    return frame.ok() && frame->message ? *std::move(frame->message) : Message(Welcome{});
  }
  // Reads so many of the bytes that come.
  static void read(Link& link, std::uint64_t bytes) {
    while (bytes != 0) {
      const auto frame = link.receive();
      ASSERT_TRUE(frame.ok() && !frame->message && frame->length <= bytes);
      std::vector<std::byte> into(frame->length);
      ASSERT_TRUE(link.read(into).ok());
      bytes -= frame->length;
    }
  }
  // Whether the courier has said a line with these words, within a minute.
  [[nodiscard]] bool is_said(const std::string& words) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    const MutexLock lock(mu_);
    for (;;) {
      const bool there = std::ranges::any_of(
          said_, [&](const std::string& line) { return line.find(words) != std::string::npos; });
      if (there) return true;
      if (!news_.wait_until(mu_, end)) return false;
    }
  }
  [[nodiscard]] const Counters& counters() const { return courier_->counters(); }
  // The real one listens there again.
  void make_way() {
    listener_.reset();
    servers_.start_b();
  }

 private:
  test::TwoServers& servers_;
  const UniqueFd never_ = make_wake_event().value();
  UniqueFd listener_;
  Message hello_{};
  std::unique_ptr<MutualTls> identity_;
  Mutex mu_;
  CondVar news_;
  std::vector<std::string> said_ AQUA_GUARDED_BY(mu_);
  std::unique_ptr<Courier> courier_;  // ends first
};

}  // namespace aqua::courier
