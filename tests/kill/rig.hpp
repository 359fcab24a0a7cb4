// SPDX-License-Identifier: Apache-2.0
// Rig is one server under test: the coordinator's daemon, producers and consumers, all
// processes of their own. It kills, stops and restarts them, and is the oracle: it looks at
// the processes' maps and descriptors, at the tenants' stamps and at the coordinator's state.
//
// Threads: one. Every failure prints the story: what was done and seen, and the logs.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/kill/child.hpp"
#include "tests/kill/json.hpp"
#include "tests/kill/node_options.hpp"
#include "wire/state.hpp"

namespace aqua::kill_test {

enum class Role { coordinator, producer, consumer };

struct Actor {
  Role role = Role::coordinator;
  unsigned index = 0;
  friend auto operator<=>(const Actor&, const Actor&) = default;
};
[[nodiscard]] std::string to_string(const Actor& actor);

inline constexpr std::chrono::milliseconds kClientTtl{300};
inline constexpr std::chrono::milliseconds kLeaseTtl{500};
inline constexpr std::chrono::milliseconds kPatience{
    20000};  // until a test gives up; not a bound of ours

// Slabs that a node maps besides lent and borrowed ones: its host tier and its engine memory.
inline constexpr std::size_t kOwnSlabs = 2;

class Rig {
 public:
  explicit Rig(unsigned pairs);
  ~Rig();
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  void tell(const std::string& what);
  [[nodiscard]] const std::vector<Actor>& actors() const noexcept { return actors_; }
  [[nodiscard]] const std::vector<Actor>& nodes() const noexcept { return nodes_; }

  // --- processes ----------------------------------------------------------------------------
  // A new process in the actor's place, whose former one has ended. An armed one may end or
  // stop before it is open, so only one that is not armed is waited for.
  void start(const Actor& actor, const std::string& at = "");
  void arm(const Actor& actor, const std::string& at);
  void kill(const Actor& actor);
  void resume(const Actor& actor);
  [[nodiscard]] bool await_dead(const Actor& actor);
  [[nodiscard]] bool await_stopped(const Actor& actor);
  [[nodiscard]] bool running(const Actor& actor);
  [[nodiscard]] pid_t pid(const Actor& actor) const;

  // --- commands -----------------------------------------------------------------------------
  // The answer; a failure of the test and null when there is none.
  Json ask(const Actor& actor, const Json& command);
  // The same for one that may end or stop before it answers; the next ask() takes the answer.
  void order(const Actor& actor, const Json& command);
  void lend(const Actor& producer);  // what is missing to its target
  void reclaim(const Actor& producer, std::size_t bytes, std::chrono::milliseconds within);
  void set_target(std::size_t bytes) { target_ = bytes; }
  [[nodiscard]] std::size_t full_target() const { return NodeOptions{}.peer_bytes; }

  // --- the oracle ---------------------------------------------------------------------------
  // nullopt while the coordinator does not answer.
  [[nodiscard]] std::optional<wire::State> state() const;
  [[nodiscard]] const ledger::Client* find(const wire::State& state, const Actor& actor) const;
  [[nodiscard]] std::size_t held_by(const wire::State& state, const Actor& actor) const;
  // Why the server is not in the state it should come to; "" when it is: everybody is live and
  // connected, the dead are forgotten, each producer lends its target, what can be is leased,
  // every tensor is in the best memory there is, and nobody maps or opens anything more.
  [[nodiscard]] std::string unsettled();
  // Waits for that, lending what producers have got back.
  void settle(const std::string& when);
  // Every running node's stamps are in place, and no stranger's.
  void verify(const std::string& when);
  // No slab is mapped by two consumers.
  void expect_one_holder(const std::string& when);
  // All that consumers have borrowed and not filled holds no stranger's bytes.
  void sweep(const std::string& when);

 private:
  struct Slot {
    std::unique_ptr<Child> child;
    unsigned incarnation = 0;
    bool open = false;  // its first line was read
    bool stopped = false;
    std::deque<std::string> unanswered;
    std::string log;
  };
  [[nodiscard]] std::vector<std::string> command_line(const Actor& actor, Slot& slot,
                                                      const std::string& at);
  [[nodiscard]] Json answer_of(const Actor& actor, const std::string& to);
  bool await_open(const Actor& actor);
  void remember_descriptors();
  [[nodiscard]] bool several_pairs() const;
  [[nodiscard]] std::string unsettled_clients(const wire::State& state);
  [[nodiscard]] std::string unsettled_slabs(const wire::State& state);
  [[nodiscard]] std::string unsettled_node(const wire::State& state, const Actor& actor);
  [[nodiscard]] std::string unsettled_descriptors(const Actor& actor);
  [[nodiscard]] std::string sharers();
  // Whoever ended was killed by us, and no sanitizer had anything to say.
  void expect_no_crash(const Actor& actor);
  void print_story();

  const Clock::time_point began_ = Clock::now();
  std::string directory_;
  std::string coordinator_;  // address
  std::vector<Actor> actors_;
  std::vector<Actor> nodes_;
  std::map<Actor, Slot> slots_;
  std::map<Role, std::vector<std::string>> descriptors_;  // of each role, when all is well
  std::uint16_t next_tenant_ = 1;
  std::size_t target_ = 0;
  std::vector<std::string> story_;
};

}  // namespace aqua::kill_test
