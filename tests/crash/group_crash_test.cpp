// SPDX-License-Identifier: Apache-2.0
// The coordinator dies at every write of its store while a group loses members and recovers: no
// term that was told ever has another member in one of its ranks, and none goes back.
#include <gtest/gtest.h>
#include <signal.h>

#include <iostream>
#include <map>
#include <optional>

#include "base/concat.hpp"
#include "southbound/http_call.hpp"
#include "southbound/lifeline.hpp"
#include "tests/base/temp_dir.hpp"
#include "tests/coordinator/child_process.hpp"
#include "wire/clients.hpp"
#include "wire/groups.hpp"

namespace aqua::crash_test {
namespace {

using groups::Group;
using groups::Rank;
using groups::Role;
using groups::State;
using testing::ChildProcess;
using testing::TempDir;

constexpr int kGroupWritesSwept = 40;
constexpr std::chrono::seconds kPatience{60};

// One client by hand, which keeps its id over the lives of the coordinator.
class Engine {
 public:
  // False: no answer.
  bool connect(const std::string& address, const std::string& lifeline) {
    address_ = address;
    const auto interrupt = southbound::Interrupt::open();
    auto connected = southbound::connect_lifeline(lifeline, id, kPatience, interrupt.value());
    if (!connected.ok()) return false;
    session_ = *std::move(connected);
    wire::JoinRequest join;
    join.info.id = id;
    join.info.device = device_;
    join.info.server = session_.welcome.server;
    join.info.domain = "test";
    join.info.consumer = true;
    return call("/v1/clients", wire::encode(join)).has_value();
  }
  // nullopt: no answer.
  std::optional<southbound::HttpReply> call(const std::string& target, const std::string& body,
                                            const char* method = "POST") {
    const auto outcome = southbound::http_call(wire::parse_address(address_).value(),
                                               {method, target, session_.welcome.secret, body},
                                               southbound::Clock::now() + kPatience, nullptr);
    return outcome.reply;
  }

  const ClientId id = random_id<ClientTag>();

 private:
  const DeviceUuid device_ = random_id<DeviceTag>();
  std::string address_;
  southbound::Lifeline session_;
};

class GroupWorld {
 public:
  // A life of the coordinator that ends at `step`, if it comes to it. True when it did.
  bool die_at(const std::string& step) {
    ChildProcess daemon({AQUA_CRASH_DAEMON, step, "--data", data()});
    const std::string line = daemon.read_line();
    if (!line.empty()) {
      const std::string address = line.substr(std::string("listening on ").size());
      if (work(address)) daemon.signal(SIGKILL);
      EXPECT_EQ(daemon.wait(), 128 + SIGKILL);
      return !finished_;
    }
    EXPECT_EQ(daemon.wait(), 128 + SIGKILL);
    return true;
  }
  [[nodiscard]] groups::Term term() const { return term_; }
  [[nodiscard]] std::size_t told() const { return holders_.size(); }

 private:
  [[nodiscard]] std::string data() const { return dir_ / "data"; }

  // Members leave and come back, and the others recover. False: no answer any more.
  bool work(const std::string& address) {
    finished_ = false;
    for (Engine& engine : engines_)
      if (!engine.connect(address, data() + "/lifeline.sock")) return false;
    if (!create()) return false;
    for (std::size_t round = 0; round < 3; ++round) {
      for (std::size_t i = 0; i < engines_.size(); ++i)
        if (!join(i)) return false;
      if (!recover() || !leave(round % engines_.size()) || !recover()) return false;
    }
    finished_ = true;
    return true;
  }
  bool create() {
    const wire::CreateGroupRequest request{"chat", {.prefill = {}, .decode = {2, 1}}, shape_, true};
    return heard(engines_[0].call("/v1/groups", wire::encode(request)));
  }
  bool join(std::size_t i) {
    std::optional<Rank> rank;
    if (i < 2 && group_.state == State::forming)
      rank = Rank{Role::decode, static_cast<std::uint32_t>(i), 0};
    return heard(engines_[i].call(path("join"),
                                  wire::encode(wire::JoinGroupRequest{"engine", shape_, rank})));
  }
  bool leave(std::size_t i) {
    if (!engines_[i].call(path("leave"), "")) return false;
    return heard(engines_[0].call(concat("/v1/groups/", to_string(group_.id)), "", "GET"));
  }
  bool recover() {
    for (const bool acknowledges : {true, false}) {
      for (Engine& engine : engines_) {
        const std::string body = acknowledges
                                     ? wire::encode(wire::AcknowledgeRequest{group_.term, {}})
                                     : wire::encode(wire::ResumedRequest{group_.term});
        if (!heard(engine.call(path(acknowledges ? "acknowledge" : "resumed"), body))) return false;
      }
    }
    return true;
  }
  [[nodiscard]] std::string path(const char* what) const {
    return concat("/v1/groups/", to_string(group_.id), "/", what);
  }

  // What was told must agree with all that was ever told of this group. A refusal tells nothing.
  bool heard(const std::optional<southbound::HttpReply>& answer) {
    if (!answer) return false;
    if (answer->status != 200) return true;
    const auto reply = wire::decode<wire::GroupReply>(answer->body);
    EXPECT_TRUE(reply.ok()) << answer->body;
    if (!reply.ok()) return true;
    const Group& group = reply->group;
    EXPECT_TRUE(group_.id.is_nil() || group.id == group_.id) << "the group was forgotten";
    EXPECT_GE(group.term, term_) << "a term went back";
    term_ = group.term;
    group_ = group;
    for (const auto& [client, member] : group.members) {
      if (!member.rank) continue;
      const auto [known, fresh] = holders_.try_emplace({group.term, *member.rank}, client);
      EXPECT_EQ(known->second, client)
          << "two members of " << to_string(*member.rank) << " in term " << group.term;
    }
    return true;
  }

  TempDir dir_;
  const groups::Shape shape_{.model = "m", .dtype = "f16", .layout = "l"};
  std::vector<Engine> engines_{3};
  Group group_;
  groups::Term term_ = 0;
  std::map<std::pair<groups::Term, Rank>, ClientId> holders_;
  bool finished_ = false;
};

TEST(GroupCrash, AtEveryWriteNoTermIsGivenTwiceAndNoneGoesBack) {
  GroupWorld world;
  int died = 0;
  for (const char* step : {"write", "torn", "written"}) {
    for (int count = 1; count <= kGroupWritesSwept && !::testing::Test::HasFailure(); ++count) {
      SCOPED_TRACE(concat(step, ":", count));
      died += world.die_at(concat(step, ":", count, ":kill")) ? 1 : 0;
    }
  }
  std::cout << "[ MEASURED ] " << died << " deaths, " << world.term() << " terms, " << world.told()
            << " ranks told" << std::endl;
  EXPECT_GT(died, 60) << "the steps were not reached";
  EXPECT_GT(world.term(), 60U) << "there were no recoveries";
}

}  // namespace
}  // namespace aqua::crash_test
