// SPDX-License-Identifier: Apache-2.0
// Engines in groups, through the runtime: they form, recover, outlive a coordinator, and are told.
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "aqua/groups.hpp"
#include "tests/base/few_threads.hpp"
#include "tests/runtime/runtime_fixture.hpp"

namespace aqua::test {
namespace {

GroupOptions pipeline_of_two(std::optional<GroupRank> rank) {
  return {.name = "chat",
          .decode = {.stages = 2},
          .shape = {.model = "m", .dtype = "f16", .layout = "l"},
          .rank = rank};
}
GroupRank stage(std::uint32_t number) {
  return {.stage = number};
}

// An engine that recovers as it is told, and remembers what it was told.
class Engine {
 public:
  Engine(Runtime runtime, GroupOptions options) : runtime_(std::move(runtime)) {
    options.on_news = [this](const GroupNews& news) { hear(news); };
    options.on_end = [this](const Error& why) {
      const std::lock_guard lock(mu_);
      ended_ = why;
      changed_.notify_all();
    };
    auto member = GroupMember::join(runtime_, std::move(options));
    EXPECT_TRUE(member.ok()) << member.error().message;
    const std::lock_guard lock(mu_);
    member_ = std::make_unique<GroupMember>(std::move(member).value());
    if (last_.term > 0) answer(last_);
  }
  ~Engine() { leave(); }
  void leave() {
    std::unique_ptr<GroupMember> member;
    {
      const std::lock_guard lock(mu_);
      member = std::move(member_);
    }
  }
  template <typename Is>
  GroupNews wait(Is&& is) {
    std::unique_lock lock(mu_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds{60}, [&] { return is(last_); }))
        << "term " << last_.term << ", state " << static_cast<int>(last_.state);
    return last_;
  }
  GroupNews runs(std::uint64_t term) {
    return wait([&](const GroupNews& news) {
      return news.state == GroupState::running && news.term == term;
    });
  }
  Error ended() {
    std::unique_lock lock(mu_);
    EXPECT_TRUE(
        changed_.wait_for(lock, std::chrono::seconds{60}, [&] { return ended_.has_value(); }));
    return ended_.value_or(Error{});
  }
  bool has_ended() {
    const std::lock_guard lock(mu_);
    return ended_.has_value();
  }
  GroupMember& member() { return *member_; }
  RuntimeStatus status() { return runtime_.status(); }
  // The resumes of the last plan.
  std::vector<GroupResume> resumes() {
    const std::lock_guard lock(mu_);
    return resumes_;
  }

 private:
  void hear(const GroupNews& news) {
    const std::lock_guard lock(mu_);
    last_ = news;
    if (member_) answer(news);
    changed_.notify_all();
  }
  // The term may be over by now: then news of the next one come.
  static void expect_said(const Result<void>& said) {
    EXPECT_TRUE(said.ok() || said.error().code == Code::aborted) << said.error().message;
  }
  void answer(const GroupNews& news) {
    if (news.acknowledge) {
      expect_said(member_->acknowledge(
          news.term, {{*news.rank, 7, 40}, {stage(1 - news.rank->stage), 7, 38}}));
    }
    if (news.resume) {
      resumes_ = news.resumes;
      expect_said(member_->resumed(news.term));
    }
  }

  Runtime runtime_;
  std::mutex mu_;
  std::condition_variable changed_;
  GroupNews last_;
  std::optional<Error> ended_;
  std::vector<GroupResume> resumes_;
  std::unique_ptr<GroupMember> member_;
};

class GroupMembers : public RuntimeFixture {
 protected:
  std::unique_ptr<Engine> engine(std::optional<GroupRank> rank) {
    return engine(pipeline_of_two(rank));
  }
  std::unique_ptr<Engine> engine(GroupOptions options) {
    auto runtime = open({.device = "emu:" + std::to_string(opened_++)});
    EXPECT_TRUE(runtime.has_value());
    return std::make_unique<Engine>(*std::move(runtime), std::move(options));
  }

 private:
  int opened_ = 0;
};

TEST_F(GroupMembers, HearOfEachOtherAndRun) {
  const auto first = engine(stage(0));
  const auto second = engine(stage(1));
  const GroupNews news = first->runs(1);
  EXPECT_EQ(news.members.size(), 2U);
  EXPECT_EQ(news.rank, stage(0));
  EXPECT_EQ(second->runs(1).group, news.group);
  EXPECT_TRUE(first->member().check(news.group, 1).ok());
  EXPECT_EQ(first->member().check(news.group, 2).error().code, Code::unavailable);
  EXPECT_EQ(first->member().check(std::string(32, 'f'), 1).error().code, Code::permission_denied);
  EXPECT_EQ(first->member().acknowledge(2, {}).error().code, Code::invalid_argument);
}

TEST_F(GroupMembers, GoOnFromOnePlanWhenOneHasLeft) {
  const auto first = engine(stage(0));
  auto second = engine(stage(1));
  const std::string group = first->runs(1).group;
  const auto spare = engine(std::nullopt);
  spare->wait([](const GroupNews& news) { return news.members.size() == 3; });
  second->leave();
  EXPECT_EQ(spare->runs(2).rank, stage(1));
  first->runs(2);
  const auto plan = first->resumes();
  ASSERT_EQ(plan.size(), 1U);
  EXPECT_EQ(plan[0].sequence, 7U);
  EXPECT_EQ(plan[0].mark, 40U);
  EXPECT_EQ(first->member().check(group, 1).error().code, Code::aborted);
  EXPECT_TRUE(first->member().check(group, 2).ok());
  EXPECT_EQ(first->member().acknowledge(1, {}).error().code, Code::aborted);
}

TEST_F(GroupMembers, OutliveTheCoordinator) {
  const auto first = engine(stage(0));
  auto second = engine(stage(1));
  const auto spare = engine(std::nullopt);
  const std::string group = first->runs(1).group;
  spare->wait([](const GroupNews& news) { return news.members.size() == 3; });
  stop_daemon();
  start_daemon();
  second->leave();
  EXPECT_EQ(spare->runs(2).group, group) << "the group was forgotten";
  first->runs(2);
}

TEST_F(GroupMembers, AnObserverHasNoPlaceAndKeepsTheGroupThatItHasCreated) {
  GroupOptions watching = pipeline_of_two(std::nullopt);
  watching.observes = true;
  const auto observer = engine(watching);
  const std::string group =
      observer->wait([](const GroupNews& news) { return news.term == 1; }).group;
  {
    const auto first = engine(stage(0));
    const auto second = engine(stage(1));
    const GroupNews news = observer->runs(1);
    EXPECT_EQ(news.members.size(), 2U);
    EXPECT_EQ(news.rank, std::nullopt);
    EXPECT_FALSE(news.acknowledge);
  }
  observer->wait([](const GroupNews& news) { return news.members.empty(); });
  stop_daemon();
  start_daemon();
  const auto first = engine(std::nullopt);
  const auto second = engine(std::nullopt);
  EXPECT_EQ(first->wait([](const GroupNews& news) { return news.rank.has_value(); }).group, group);
  observer->wait(
      [](const GroupNews& news) { return news.state == GroupState::running && news.term == 3; });
  EXPECT_FALSE(observer->has_ended());
  EXPECT_TRUE(observer->member().check(group, 3).ok());
  EXPECT_EQ(observer->member().check(group, 1).error().code, Code::aborted)
      << "the term in which it first heard the group run";
  EXPECT_EQ(observer->member().check(group, 4).error().code, Code::unavailable);
  EXPECT_EQ(observer->member().acknowledge(3, {}).error().code, Code::failed_precondition);
  EXPECT_EQ(observer->member().resumed(3).error().code, Code::failed_precondition);
  watching.rank = stage(0);
  auto runtime = open({.device = "emu:7"});
  ASSERT_TRUE(runtime.has_value());
  EXPECT_EQ(GroupMember::join(*runtime, watching).error().code, Code::invalid_argument);
}

// Breaks the lifelines of every runtime in this process. Returns how many there were.
int break_lifelines(const std::string& path) {
  int broken = 0;
  for (int fd = 3; fd < 1024; ++fd) {
    sockaddr_un peer{};
    socklen_t length = sizeof peer;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) != 0) continue;
    if (peer.sun_family == AF_UNIX && path == peer.sun_path)
      broken += ::shutdown(fd, SHUT_RDWR) == 0 ? 1 : 0;
  }
  return broken;
}

TEST_F(GroupMembers, OutliveABrokenLifeline) {
  const auto first = engine(stage(0));
  auto second = engine(stage(1));
  const auto spare = engine(std::nullopt);
  first->runs(1);
  spare->wait([](const GroupNews& news) { return news.members.size() == 3; });
  EXPECT_EQ(break_lifelines(directory_ + "/lifeline.sock"), 3);
  second->leave();
  EXPECT_EQ(spare->runs(2).rank, stage(1));
  first->runs(2);
  EXPECT_FALSE(first->has_ended());
  EXPECT_FALSE(spare->has_ended());
}

TEST_F(GroupMembers, ThatLeaveAndJoinAgainKeepTheNewPlace) {
  auto runtime = open({.device = "emu:7"});
  ASSERT_TRUE(runtime.has_value());
  const auto stays = engine(stage(1));
  GroupOptions options = pipeline_of_two(stage(0));
  std::atomic<int> ended{0};
  options.on_end = [&](const Error&) { ++ended; };
  std::uint64_t term = 0;
  for (int times = 0; times < 20; ++times) {
    auto member = GroupMember::join(*runtime, options);
    ASSERT_TRUE(member.ok()) << member.error().message;
    await([&] { return member->news().term > term || ended > 0; });
    ASSERT_EQ(ended, 0) << "thrown out by its former part, after " << times;
    term = member->news().term;
  }
}

TEST_F(GroupMembers, AreNotHeardBeforeThereIsSomethingToAcknowledge) {
  const auto first = engine(stage(0));
  const GroupNews forming = first->wait([](const GroupNews& news) { return news.term == 1; });
  EXPECT_EQ(first->member().check(forming.group, 0).error().code, Code::aborted);
  ASSERT_TRUE(first->member().acknowledge(1, {}).ok());
  ASSERT_TRUE(first->member().resumed(1).ok());
  const auto before = first->status().coordinator_calls;
  const auto second = engine(stage(1));
  first->runs(1);
  EXPECT_LE(first->status().coordinator_calls, before + 2) << "asked all the time";
}

TEST_F(GroupMembers, OfAnotherShapeAreToldWhyTheyAreRefused) {
  const auto first = engine(stage(0));
  first->wait([](const GroupNews& news) { return news.term == 1; });
  GroupOptions other = pipeline_of_two(stage(1));
  other.shape.dtype = "bf16";
  const auto refused = engine(std::move(other));
  const Error why = refused->ended();
  EXPECT_EQ(why.code, Code::failed_precondition);
  EXPECT_NE(why.message.find("dtype"), std::string::npos) << why.message;
}

TEST_F(GroupMembers, WithoutACoordinatorThereIsNoGroup) {
  auto alone = Runtime::open({.device = "emu:0", .host_bytes = 1 << 20});
  ASSERT_TRUE(alone.ok()) << alone.error().message;
  EXPECT_EQ(GroupMember::join(*alone, pipeline_of_two(stage(0))).error().code,
            Code::failed_precondition);
}

TEST_F(GroupMembers, AreRefusedWhereNoThreadCanBeStarted) {
  auto runtime = open({.device = "emu:0", .coordinator = "unix:" + directory_ + "/nobody"});
  ASSERT_TRUE(runtime.has_value());
  const FewThreads none(0);
  const auto member = GroupMember::join(*runtime, pipeline_of_two(stage(0)));
  ASSERT_FALSE(member.ok());
  EXPECT_EQ(member.error().code, Code::resource_exhausted) << member.error().message;
}

TEST_F(GroupMembers, HearInTickWhereTheirRuntimeSaysSo) {
  auto runtime = open({.device = "emu:0", .callbacks_in_tick = true});
  ASSERT_TRUE(runtime.has_value());
  bool heard = false;
  GroupOptions options = pipeline_of_two(stage(0));
  options.on_news = [&](const GroupNews&) { heard = true; };
  auto member = GroupMember::join(*runtime, std::move(options));
  ASSERT_TRUE(member.ok()) << member.error().message;
  await([&] { return member->news().term == 1; });
  EXPECT_FALSE(heard);
  runtime->tick();
  EXPECT_TRUE(heard);
}

}  // namespace
}  // namespace aqua::test
