// SPDX-License-Identifier: Apache-2.0
#include "tests/kill/rig.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "base/concat.hpp"
#include "tools/admin/operator.hpp"

namespace aqua::kill_test {
namespace {

constexpr std::size_t kLogLines = 60;  // of each process, in a story

std::string make_directory() {
  std::string path = "/tmp/aqua-kill-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) std::abort();
  return path;
}

}  // namespace

std::string to_string(const Actor& actor) {
  if (actor.role == Role::coordinator) return "coordinator";
  return concat(actor.role == Role::producer ? "producer" : "consumer", actor.index);
}

Rig::Rig(unsigned pairs)
    : directory_(make_directory()), coordinator_("unix:" + directory_ + "/c.sock") {
  target_ = full_target();
  for (unsigned i = 0; i < pairs; ++i) {
    nodes_.push_back({Role::producer, i});
    nodes_.push_back({Role::consumer, i});
  }
  actors_ = nodes_;
  actors_.push_back({Role::coordinator, 0});
  start({Role::coordinator, 0});
  for (const Actor& node : nodes_) start(node);
  settle("at the beginning");
  remember_descriptors();
}

Rig::~Rig() {
  for (auto& [actor, slot] : slots_) {
    if (slot.child == nullptr) continue;
    slot.child->kill_and_reap();
    expect_no_crash(actor);
  }
  if (::testing::Test::HasFailure()) print_story();
  std::error_code ignored;  // a directory in /tmp more or less
  std::filesystem::remove_all(directory_, ignored);
}

void Rig::expect_no_crash(const Actor& actor) {
  Slot& slot = slots_.at(actor);
  EXPECT_TRUE(slot.child->killed()) << to_string(actor) << " has ended by itself";
  std::ifstream log(slot.log);
  for (std::string line; std::getline(log, line);) {
    const bool report = line.find("Sanitizer:") != std::string::npos ||
                        line.find("runtime error:") != std::string::npos;
    if (!report) continue;
    std::cerr << log.rdbuf() << std::endl;
    ADD_FAILURE() << to_string(actor) << ": " << line;
    return;
  }
}

void Rig::tell(const std::string& what) {
  const std::chrono::duration<double> now = Clock::now().time_since_epoch();
  const std::chrono::duration<double, std::milli> since = Clock::now() - began_;
  std::ostringstream line;
  line << std::fixed;
  line.precision(6);
  line << now.count() << " (+" << static_cast<std::int64_t>(since.count()) << " ms) " << what;
  story_.push_back(line.str());
}

void Rig::print_story() {
  std::cerr << "--- the story\n";
  for (const std::string& line : story_) std::cerr << line << "\n";
  for (const auto& [actor, slot] : slots_) {
    std::cerr << "--- the log of " << to_string(actor) << "\n";
    std::deque<std::string> tail;
    std::ifstream log(slot.log);
    for (std::string line; std::getline(log, line);) {
      tail.push_back(line);
      if (tail.size() > kLogLines) tail.pop_front();
    }
    for (const std::string& line : tail) std::cerr << line << "\n";
  }
  std::cerr << "---" << std::endl;
}

std::vector<std::string> Rig::command_line(const Actor& actor, Slot& slot, const std::string& at) {
  if (actor.role == Role::coordinator) {
    std::vector<std::string> line{AQUA_KILL_COORDINATOR};
    if (!at.empty()) line.insert(line.end(), {"--at", at});
    line.insert(line.end(),
                {"--data", directory_ + "/data", "--listen", coordinator_, "--client-ttl",
                 concat(kClientTtl.count()), "--lease-ttl", concat(kLeaseTtl.count())});
    return line;
  }
  NodeOptions options;
  options.consumer = actor.role == Role::consumer;
  options.name = concat(to_string(actor), "#", slot.incarnation);
  options.device = concat("emu:", 2 * actor.index + (options.consumer ? 1 : 0));
  options.coordinator = coordinator_;
  options.sockets = directory_;
  options.tenant = next_tenant_++;
  options.at = at;
  std::vector<std::string> line = to_arguments(options);
  line.insert(line.begin(), AQUA_KILL_NODE);
  return line;
}

void Rig::start(const Actor& actor, const std::string& at) {
  Slot& slot = slots_[actor];
  if (slot.child != nullptr) expect_no_crash(actor);
  ++slot.incarnation;
  slot.open = false;
  slot.stopped = false;
  slot.unanswered.clear();
  slot.log = concat(directory_, "/", to_string(actor), ".log");
  slot.child = std::make_unique<Child>(command_line(actor, slot, at), slot.log);
  tell(concat("start ", to_string(actor), "#", slot.incarnation, " pid ", slot.child->pid(),
              at.empty() ? "" : " armed ", at));
  if (at.empty()) {
    ASSERT_TRUE(await_open(actor)) << to_string(actor) << " does not open";
  }
}

bool Rig::await_open(const Actor& actor) {
  Slot& slot = slots_.at(actor);
  if (!slot.open) slot.open = slot.child->read_line(kPatience).has_value();
  return slot.open;
}

void Rig::arm(const Actor& actor, const std::string& at) {
  tell(concat("arm ", to_string(actor), ": ", at));
  if (actor.role != Role::coordinator) return (void)ask(actor, {{"do", "arm"}, {"at", at}});
  ASSERT_TRUE(await_open(actor));
  ASSERT_TRUE(slots_.at(actor).child->write_line(at));
  ASSERT_TRUE(slots_.at(actor).child->read_line(kPatience));
}

void Rig::kill(const Actor& actor) {
  tell(concat("kill ", to_string(actor)));
  slots_.at(actor).child->kill_and_reap();
}

void Rig::resume(const Actor& actor) {
  tell(concat("resume ", to_string(actor)));
  slots_.at(actor).stopped = false;
  slots_.at(actor).child->signal(SIGCONT);
  EXPECT_TRUE(await_open(actor)) << to_string(actor) << " does not open after it was stopped";
}

bool Rig::await_dead(const Actor& actor) {
  const bool dead = eventually(kPatience, [&] { return slots_.at(actor).child->dead(); });
  tell(concat(to_string(actor), dead ? " is dead" : " did not die"));
  return dead;
}

bool Rig::await_stopped(const Actor& actor) {
  Slot& slot = slots_.at(actor);
  slot.stopped = eventually(kPatience, [&] { return slot.child->stopped(); });
  tell(concat(to_string(actor), slot.stopped ? " has stopped" : " did not stop"));
  return slot.stopped;
}

bool Rig::running(const Actor& actor) {
  const Slot& slot = slots_[actor];
  return slot.child != nullptr && !slot.stopped && !slot.child->dead();
}

pid_t Rig::pid(const Actor& actor) const {
  return slots_.at(actor).child->pid();
}

std::optional<wire::State> Rig::state() const {
  auto state = admin::fetch_state(coordinator_, std::chrono::milliseconds(1000));
  if (!state.ok()) return std::nullopt;
  return *std::move(state);
}

}  // namespace aqua::kill_test
