// SPDX-License-Identifier: Apache-2.0
// A keeper, engines of examples/fleet over one pool, and clients that know what each answer must
// be.
//
// Threads: one, but Clients, which has its own.
#pragma once

#include <signal.h>

#include <atomic>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/coordinator/child_process.hpp"
#include "tests/examples/fleet/reference.hpp"
#include "tests/tools/router/live.hpp"

namespace aqua::fleet::test {

using router::test::Json;
using router::test::RouterProcess;

// Where the keeper listens, gone with all in it at the end.
class Place {
 public:
  Place();
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  [[nodiscard]] std::string keeper() const { return path_ / "keeper.sock"; }

 private:
  std::filesystem::path path_;
};

class Keeper {
 public:
  Keeper();
  [[nodiscard]] std::string socket() const { return place_.keeper(); }
  // Whether nothing of any request is left in the pool: no parcel waits, nothing is shared. The
  // blocks that members have ahead are theirs.
  [[nodiscard]] bool holds_nothing() const;
  // Whether a member has joined one.
  [[nodiscard]] bool has_pools() const;
  // By SIGKILL; its pools end with it.
  void kill();
  // Another one, at the same socket.
  void start_again();
  // It hangs from now on, and goes on.
  void stop() const { child_->stop(); }
  void go_on() const { child_->signal(SIGCONT); }

 private:
  Place place_;
  std::optional<aqua::testing::ChildProcess> child_;
};

class FleetEngine {
 public:
  FleetEngine(const Keeper& keeper, std::string name,
              const std::vector<std::string>& arguments = {});
  // With KV in memory of its own.
  FleetEngine(std::string name, const std::vector<std::string>& arguments);
  // Runs another program, by its command line.
  explicit FleetEngine(const std::vector<std::string>& line);
  [[nodiscard]] const std::string& url() const { return url_; }
  // A figure in its /metrics; -1 where it does not answer.
  [[nodiscard]] double metric(const std::string& name) const;
  // It has no request, no room and nothing on its way.
  [[nodiscard]] bool holds_nothing() const;
  aqua::testing::ChildProcess child;

 private:
  std::string url_;
};

// Clients that ask one question after another, each answer compared with the reference.
class Clients {
 public:
  Clients(std::string url, std::size_t clients, std::uint32_t tokens);
  ~Clients() { end(); }
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;
  // The router dies between the two: what was asked by then may break off, and nothing more is
  // asked.
  void router_dies() { change_life(); }
  void router_is_back() { change_life(); }
  // All that were asked are answered.
  void end();
  [[nodiscard]] std::size_t asked() const { return asked_; }
  void expect_all_right();

 private:
  void ask_for_ever(std::size_t client);
  void change_life();
  // Some questions are asked again and again: their answers take as long to compute here.
  [[nodiscard]] const Answer& expected(std::uint32_t question);

  const std::string url_;
  const std::uint32_t tokens_;
  std::atomic<bool> over_{false};
  std::atomic<std::size_t> asked_{0}, right_{0};
  std::atomic<unsigned> life_{0};  // of the router; odd while it is dead
  std::mutex mu_;
  std::map<std::uint32_t, Answer> expected_{};
  std::string wrong_{};
  std::vector<std::jthread> threads_{};
};

[[nodiscard]] std::vector<std::uint32_t> prompt_of(std::uint32_t question);
// Orders the only request to the other one of engines a and b. False: the router has answered it.
bool move_the_only_one(const RouterProcess& router, bool by_tokens = false);
// The answer to a prompt, whose request is ordered to the other engine once it has 20 tokens.
[[nodiscard]] Answer ask_and_move(const RouterProcess& router,
                                  const std::vector<std::uint32_t>& prompt, std::uint32_t seed,
                                  std::uint32_t tokens);
// Orders each request that is there to some other engine; by tokens: all of them.
void move_around(const RouterProcess& router, std::mt19937& random, std::size_t engines,
                 bool by_tokens);
// The moves of a kind ("kv", "tokens") that were done.
[[nodiscard]] double moves_done(const RouterProcess& router, const std::string& kind);

}  // namespace aqua::fleet::test
