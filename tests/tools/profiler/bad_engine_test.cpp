// SPDX-License-Identifier: Apache-2.0
// Engines that hang, die, refuse or answer 500: a clear message, what was found is kept.
#include "tests/tools/profiler/bad_engine.hpp"

#include <set>

#include "base/mutex.hpp"

namespace aqua::profiler {
namespace {

TEST_F(BadEngine, IsNeverAskedAPromptTwice) {
  Mutex mu;
  std::multiset<std::string> prompts;
  good_ = 0;
  misbehave_ = [&](const auto& request, auto& reply) {
    {
      const MutexLock lock(mu);
      prompts.insert(nlohmann::json::parse(request.body)["prompt"].dump());
    }
    answer_well(request, reply);
  };
  ASSERT_TRUE(profile().ok());
  const std::size_t once = prompts.size();
  ASSERT_TRUE(profile().ok());
  EXPECT_GT(prompts.size(), once);
  const std::set<std::string> different(prompts.begin(), prompts.end());
  EXPECT_EQ(different.size(), prompts.size());
}

TEST_F(BadEngine, IsNotGivenMoreThanCanBeKeptInMind) {
  ask_for("10,10000000");
  fails(Code::invalid_argument, "20 requests has answers of 200000000 tokens");
}

TEST_F(BadEngine, ThatIsGoodIsProfiled) {
  const auto said = profile();
  ASSERT_TRUE(said.ok()) << said.error().message;
  EXPECT_DOUBLE_EQ(kept().profile.max_rps, 800);
}

TEST_F(BadEngine, Answering500FromTheStartIsQuoted) {
  good_ = 0;
  fails(Code::unavailable, "answers 500: CUDA out of memory");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "profile.json")) << "nothing was found";
}

TEST_F(BadEngine, Answering500LaterKeepsWhatWasFound) {
  good_ = 35;
  fails(Code::unavailable, "the engine answers 500: CUDA out of memory");
  const Record record = kept();
  EXPECT_FALSE(record.profile.complete);
  EXPECT_GE(record.evidence.probes.size(), 1u);
  EXPECT_GT(record.profile.max_rps, 0);
  EXPECT_NE(record.evidence.reason.find("500"), std::string::npos);
}

TEST_F(BadEngine, HangingIsSaidToHang) {
  good_ = 35;
  misbehave_ = [this](const auto&, auto& reply) {
    released_.wait(false);
    reply.status = 503;
  };
  fails(Code::unavailable, "said nothing for 1 s: does it hang?");
  EXPECT_GE(kept().evidence.probes.size(), 1u);
}

TEST_F(BadEngine, DyingInTheMiddleOfAnAnswerIsSaid) {
  good_ = 35;
  misbehave_ = [](const auto&, auto& reply) {
    reply.set_chunked_content_provider("text/event-stream",
                                       [](std::size_t, httplib::DataSink& sink) {
                                         const std::string part(kToken, 30);
                                         sink.write(part.data(), part.size());
                                         return false;
                                       });
  };
  fails(Code::unavailable, "broke off");
}

TEST_F(BadEngine, EndingAnAnswerTooEarlyIsSaid) {
  good_ = 35;
  misbehave_ = [](const auto&, auto& reply) { reply.set_content(kToken, "text/event-stream"); };
  fails(Code::unavailable, "without finish_reason and [DONE]");
}

TEST_F(BadEngine, StoppedWhileItHangsIsLeftAtOnce) {
  good_ = 0;
  misbehave_ = [this](const auto&, auto&) {
    stop_.request_stop();
    released_.wait(false);
  };
  fails(Code::cancelled, "stopped");
}

TEST_F(BadEngine, AFileThatCannotBeWrittenIsSaidBeforeAnythingIsAsked) {
  for (const bool page : {false, true}) {
    auto wanted = options();
    (page ? wanted.html : wanted.out) = directory_ / "nowhere" / "file";
    const auto said = tool::run_profile(wanted, {});
    ASSERT_FALSE(said.ok());
    EXPECT_EQ(said.error().code, Code::not_found);
    EXPECT_NE(said.error().message.find("No such file"), std::string::npos);
  }
  EXPECT_EQ(asked_, 0u);
}

TEST_F(BadEngine, APageThatFailsDoesNotCostTheProfile) {
  auto wanted = options();
  wanted.html = directory_ / "page.html";
  good_ = 5;
  misbehave_ = [&](const auto& request, auto& reply) {
    std::filesystem::create_directory(wanted.html);  // what was writable is no longer
    answer_well(request, reply);
  };
  const auto said = tool::run_profile(wanted, {});
  ASSERT_TRUE(said.ok()) << said.error().message;
  EXPECT_NE(said->find("no page: "), std::string::npos) << *said;
  EXPECT_TRUE(kept().profile.complete);
}

TEST_F(BadEngine, ARunThatMeasuredNothingLeavesTheFileOfAnEarlierOne) {
  ASSERT_TRUE(profile().ok());
  const Record before = kept();
  good_ = asked_ + 3;  // the greeting, and hardly more
  const auto said = profile();
  ASSERT_FALSE(said.ok());
  EXPECT_EQ(said.error().code, Code::unavailable) << said.error().message;
  EXPECT_EQ(said.error().message.find("--resume"), std::string::npos) << "there is nothing to";
  EXPECT_EQ(render_record(kept()), render_record(before));
}

TEST_F(BadEngine, AnotherSpeedIsNotResumed) {
  auto wanted = options();
  wanted.kind = tool::ProfileKind::image;
  wanted.path = "/v1/completions";
  wanted.most_batch = 2;
  wanted.memory.source = MemorySource::vllm;
  ASSERT_TRUE(tool::run_profile(wanted, {}).ok());
  wanted.resume = true;
  wanted.speed = 2;
  const auto said = tool::run_profile(wanted, {});
  ASSERT_FALSE(said.ok());
  EXPECT_EQ(said.error().code, Code::failed_precondition);
  EXPECT_NE(said.error().message.find("--speed"), std::string::npos) << said.error().message;
}

TEST_F(BadEngine, ThatIsNotThereIsSaid) {
  server_.stop();
  fails(Code::unavailable, "cannot be reached: is it running?");
}

TEST_F(BadEngine, NeverEndingAnAnswerIsLeft) {
  good_ = 0;
  misbehave_ = without_end(kToken);
  fails(Code::unavailable, "does not end its answers: 4 tokens came of the 2 asked for");
}

TEST_F(BadEngine, SendingNothingButKeepAlivesIsSaidToHang) {
  good_ = 0;
  misbehave_ = without_end(": ping\n\n");
  fails(Code::unavailable, "said nothing for 1 s: does it hang?");
}

TEST_F(BadEngine, RefusingForAWhileAfterEachLoadIsWaitedFor) {
  ask_for("10,3");
  good_ = 0;
  std::atomic<int> refusals{0};
  misbehave_ = [&](const auto& request, auto& reply) {
    if (of_load(request)) {
      refusals = 3;
    } else if (refusals > 0 && refusals-- > 0) {
      reply.status = 503;
      return;
    }
    answer_well(request, reply);
  };
  const auto said = profile();
  EXPECT_TRUE(said.ok()) << said.error().message;
}

TEST_F(BadEngine, RefusingAfterALoadForGoodIsSaid) {
  ask_for("10,3");
  good_ = 0;
  std::atomic<bool> full{false};
  misbehave_ = [&](const auto& request, auto& reply) {
    full = full || of_load(request);
    if (!full || of_load(request)) return answer_well(request, reply);
    reply.status = 429;
  };
  fails(Code::deadline_exceeded, "has not recovered in 1 s");
}

TEST_F(BadEngine, RefusingTheFirstRequestIsQuoted) {
  good_ = 0;
  misbehave_ = [](const auto&, auto& reply) {
    reply.status = 503;
    reply.set_content(R"({"error":{"message":"Loading model"}})", "application/json");
  };
  fails(Code::unavailable, "the engine answers 503: Loading model");
}

TEST_F(BadEngine, SendingNoStreamIsSaid) {
  good_ = 0;
  misbehave_ = [](const auto&, auto& reply) {
    reply.set_content(R"({"choices":[{"text":"all at once"}]})", "application/json");
  };
  fails(Code::unavailable, "the engine gives an answer without a token");
}

TEST_F(BadEngine, RefusingEveryLoadMeetsTheSlaAtNoRate) {
  ask_for("10,3");
  good_ = 0;
  misbehave_ = [](const auto& request, auto& reply) {
    if (!of_load(request)) return answer_well(request, reply);
    reply.status = 429;
  };
  fails(Code::failed_precondition, "no rate from 200 to 800 requests/s meets the SLA");
  EXPECT_EQ(kept().profile.role, ProfileRole::neutral);
}

}  // namespace
}  // namespace aqua::profiler
