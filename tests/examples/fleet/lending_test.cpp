// SPDX-License-Identifier: Apache-2.0
// Engines that lend their KV memory while nobody asks them, and are woken by a reclaim; and a fleet
// whose coordinator dies. Every answer is the reference's, and every byte of the borrower's is
// compared. `aqua top` looks at router and coordinator as they are then.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstring>
#include <future>

#include "aqua/emulated.hpp"
#include "aqua/runtime.hpp"
#include "tests/coordinator/daemon_process.hpp"
#include "tests/examples/fleet/rig.hpp"

namespace aqua::fleet::test {
namespace {

using namespace aqua::literals;
using aqua::testing::DaemonProcess;
using router::test::ask;
using router::test::becomes;
using router::test::request_of;

constexpr std::size_t kKept = 4_MiB;

// A neighbour in this process that keeps some bytes wherever there is room.
class Borrower {
 public:
  explicit Borrower(const std::string& coordinator)
      : runtime_(Runtime::open({.device = "emu:9",
                                .coordinator = coordinator,
                                .name = "borrower",
                                .host_bytes = kKept,
                                .max_peer_bytes = kKept,
                                .slab_bytes = 2_MiB,
                                .curve_directory = "off"})
                     .value()),
        stream_(emulated::create_stream(runtime_).value()) {
    for (std::size_t i = 0; i < kKept / 1_MiB; ++i) {
      tensors_.push_back(runtime_.allocate({.bytes = 1_MiB}).value());
      (void)work(i, Access::write, [i](std::byte* bytes) {
        std::memset(bytes, static_cast<int>(i + 1), 1_MiB);
        return true;
      });
    }
  }
  ~Borrower() {
    tensors_.clear();
    (void)emulated::destroy_stream(runtime_, stream_);
  }
  Borrower(const Borrower&) = delete;
  Borrower& operator=(const Borrower&) = delete;

  [[nodiscard]] bool all_in(Tier tier) {
    for (const AquaTensor& tensor : tensors_) {
      if (tensor.tier() != tier) return false;
    }
    return true;
  }
  [[nodiscard]] bool has_every_byte() {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const bool right = work(i, Access::read, [i](const std::byte* bytes) {
        for (std::size_t at = 0; at < 1_MiB; ++at) {
          if (bytes[at] != static_cast<std::byte>(i + 1)) return false;
        }
        return true;
      });
      if (!right) return false;
    }
    return true;
  }

 private:
  template <typename Kernel>
  [[nodiscard]] bool work(std::size_t number, Access access, Kernel kernel) {
    bool right = false;
    const Pin pin = tensors_.at(number).pin(access, stream_).value();
    EXPECT_TRUE(emulated::launch(runtime_, stream_, [&] {
                  right = kernel(emulated::kernel_view(pin.data()));
                }).ok());
    EXPECT_TRUE(emulated::synchronize(runtime_, stream_).ok());
    return right;
  }

  Runtime runtime_;
  Stream stream_;
  std::vector<AquaTensor> tensors_{};
};

std::vector<std::string> lending_line(const DaemonProcess& coordinator, const char* after = "50") {
  return {"--coordinator", coordinator.address(), "--lend-after", after, "--iteration-ms", "2"};
}

void expect_right_answer(const std::string& url, std::uint32_t question) {
  const auto prompt = prompt_of(question);
  EXPECT_EQ(ask(url, request_of(prompt, question, 40)), reference_answer(prompt, question, 40));
}

TEST(FleetLending, AnEngineWithoutRequestsLendsAndTheNextRequestWakesIt) {
  const DaemonProcess coordinator;
  const FleetEngine engine("engine-a", lending_line(coordinator));
  expect_right_answer(engine.url(), 1);
  Borrower borrower(coordinator.address());
  for (int round = 1; round <= 3; ++round) {
    ASSERT_TRUE(becomes([&] { return borrower.all_in(Tier::peer); })) << round;
    EXPECT_GE(engine.metric("fleet_lent_bytes"), static_cast<double>(kKept));
    expect_right_answer(engine.url(), static_cast<std::uint32_t>(round));
    EXPECT_GE(engine.metric("fleet_wakes_total"), round);
    EXPECT_TRUE(borrower.has_every_byte());
  }
  EXPECT_GT(engine.metric("fleet_wake_seconds_total"), 0);
}

TEST(FleetLending, AnEngineThatIsAskedLendsNothing) {
  const DaemonProcess coordinator;
  const FleetEngine engine("engine-a", lending_line(coordinator, "1"));
  const auto prompt = prompt_of(2);
  double lent = 0;
  EXPECT_EQ(ask(engine.url(), request_of(prompt, 2, 200), "/v1/completions",
                [&](const Answer& so_far) {
                  if (so_far.ids.size() % 20 == 10) lent += engine.metric("fleet_lent_bytes");
                  return true;
                }),
            reference_answer(prompt, 2, 200));
  EXPECT_EQ(lent, 0);
  EXPECT_TRUE(becomes([&] { return engine.metric("fleet_lent_bytes") > 0; }));
}

TEST(FleetLending, AClientThatGoesWhileItsEngineWakesLeavesNothing) {
  const DaemonProcess coordinator;
  const FleetEngine engine("engine-a", lending_line(coordinator));
  ASSERT_TRUE(becomes([&] { return engine.metric("fleet_lent_bytes") > 0; }));
  (void)ask(engine.url(), request_of(prompt_of(1), 1, 5000), "/v1/completions",
            [](const Answer&) { return false; });
  EXPECT_TRUE(becomes([&] { return engine.holds_nothing(); }));
  EXPECT_TRUE(becomes([&] { return engine.metric("fleet_lent_bytes") > 0; })) << "it lends again";
}

TEST(FleetLending, WhatNobodyHoldsComesBackThoughTheCoordinatorIsDead) {
  DaemonProcess coordinator;
  const FleetEngine engine("engine-a", lending_line(coordinator));
  ASSERT_TRUE(becomes([&] { return engine.metric("fleet_lent_bytes") > 0; }));
  coordinator.kill();
  expect_right_answer(engine.url(), 3);
  EXPECT_EQ(engine.metric("fleet_wakes_total"), 1);
}

TEST(FleetLending, WhatABorrowerHoldsComesBackOnceTheCoordinatorIsThereAgain) {
  DaemonProcess coordinator;
  const FleetEngine engine("engine-a", lending_line(coordinator));
  Borrower borrower(coordinator.address());
  ASSERT_TRUE(becomes([&] { return borrower.all_in(Tier::peer); }));
  coordinator.kill();
  auto asking = std::async(std::launch::async, [&] { expect_right_answer(engine.url(), 3); });
  EXPECT_TRUE(becomes([&] { return engine.metric("fleet_requests") == 1; })) << "it waits";
  EXPECT_TRUE(borrower.has_every_byte());
  coordinator.start();
  asking.get();
  EXPECT_EQ(engine.metric("fleet_wakes_total"), 1);
  EXPECT_TRUE(borrower.has_every_byte());
  EXPECT_TRUE(becomes([&] { return borrower.all_in(Tier::peer); })) << "it lends to it again";
}

TEST(FleetLending, WhatThePackerHasEmptiedLendsAndIsWokenByLoad) {
  const DaemonProcess coordinator;
  auto line = lending_line(coordinator);
  line.insert(line.end(), {"--blocks", "64"});
  const FleetEngine a("engine-a", line), b("engine-b", line);
  const RouterProcess router({a.url(), b.url()}, {"--policy", "pack"});
  const auto lends = [](const FleetEngine& engine) {
    return engine.metric("fleet_lent_bytes") > 0;
  };
  ASSERT_TRUE(becomes([&] { return lends(a) && lends(b); }));
  {
    Clients one(router.url(), 1, 200);
    EXPECT_TRUE(becomes([&] { return one.asked() >= 2; }));
    EXPECT_TRUE(becomes([&] { return lends(a) != lends(b); })) << "one engine is enough";
    one.expect_all_right();
  }
  Clients many(router.url(), 8, 200);
  EXPECT_TRUE(becomes([&] { return !lends(a) && !lends(b); }));
  many.expect_all_right();
  EXPECT_TRUE(becomes([&] { return lends(a) && lends(b); }));
}

// `aqua top`, one look.
Json top_of(const RouterProcess& router, const DaemonProcess& coordinator) {
  aqua::testing::ChildProcess top({AQUA_PROGRAM, "top", "--router", router.url(), "--coordinator",
                                   coordinator.address(), "--once", "--json"});
  const std::string line = top.read_line();
  EXPECT_EQ(top.wait(), 0);
  return Json::parse(line, nullptr, false);
}

TEST(AquaTop, ShowsALiveFleetItsMovesAndWhoLendsToWhom) {
  const DaemonProcess coordinator;
  auto line = lending_line(coordinator);
  line.insert(line.end(), {"--iteration-ms", "10"});  // time to look, and to wake the other one
  const FleetEngine a("engine-a", line), b("engine-b", line);
  Borrower borrower(coordinator.address());
  ASSERT_TRUE(becomes([&] { return borrower.all_in(Tier::peer); }));
  const RouterProcess router({a.url(), b.url()});
  const Json idle = top_of(router, coordinator);
  ASSERT_EQ(idle.at("engines").size(), 2U) << idle;
  for (const Json& engine : idle.at("engines")) EXPECT_EQ(engine.at("state"), "up");
  EXPECT_TRUE(idle.at("requests").empty());
  ASSERT_FALSE(idle.at("memory").at("loans").empty()) << idle;
  EXPECT_GT(idle.at("memory").at("loans")[0].at("bytes"), 0);
  Json asked;
  const auto prompt = prompt_of(3);
  EXPECT_EQ(ask(router.url(), request_of(prompt, 3, 300), "/v1/completions",
                [&](const Answer& so_far) {
                  if (so_far.ids.size() < 20 || !asked.empty()) return true;
                  asked = top_of(router, coordinator);
                  EXPECT_TRUE(move_the_only_one(router));
                  return true;
                }),
            reference_answer(prompt, 3, 300));
  ASSERT_EQ(asked.at("requests").size(), 1U) << asked;
  EXPECT_GE(asked.at("requests")[0].at("tokens").get<std::size_t>(), prompt.size() + 20);
  const Json moved = top_of(router, coordinator).at("moves").at(1);
  EXPECT_EQ(moved.at("kind"), "tokens");
  EXPECT_EQ(moved.at("done"), 1) << moved;
  EXPECT_GT(moved.at("pause_seconds").get<double>(), 0);
}

TEST(DeathOfTheCoordinator, NoAnswerOfTheFleetNotices) {
  const Keeper keeper;
  DaemonProcess coordinator;
  std::deque<FleetEngine> engines;
  std::vector<std::string> urls;
  for (const char* name : {"a", "b", "c", "d"}) {
    engines.emplace_back(
        keeper, name,
        std::vector<std::string>{"--iteration-ms", "10", "--coordinator", coordinator.address()});
    urls.push_back(engines.back().url());
  }
  const RouterProcess router(urls);
  std::mt19937 random(4);
  Clients clients(router.url(), 12, 200);
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(becomes([&] { return router.metric("aqua_router_requests") >= 8; }));
    move_around(router, random, engines.size(), false);
    if (round == 1) {
      coordinator.process().stop();
    } else {
      coordinator.kill();
    }
    const double moves = moves_done(router, "kv");
    EXPECT_TRUE(becomes([&] {
      move_around(router, random, engines.size(), false);
      return moves_done(router, "kv") >= moves + 8;
    })) << "moves go on without it";
    if (round == 1) {
      coordinator.process().signal(SIGCONT);
    } else {
      coordinator.start();
    }
  }
  clients.expect_all_right();
  EXPECT_EQ(router.metric("aqua_router_recoveries_total"), 0);
  for (const FleetEngine& engine : engines)
    EXPECT_TRUE(becomes([&] { return engine.holds_nothing(); }));
  EXPECT_TRUE(becomes([&] { return keeper.holds_nothing(); }));
}

}  // namespace
}  // namespace aqua::fleet::test
