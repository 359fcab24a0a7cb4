// Engines that hang, die, answer 500 or lie: a clear message, what was found is kept.
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/socket.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/concat.hpp"
#include "base/mutex.hpp"
#include "profiler/record.hpp"
#include "sim/text.hpp"
#include "tools/profile_command.hpp"

namespace aqua::profiler {
namespace {

const char* const kToken = "data: {\"choices\":[{\"text\":\"x\",\"finish_reason\":null}]}\n\n";
const char* const kLastToken =
    "data: {\"choices\":[{\"text\":\"x\",\"finish_reason\":\"length\"}]}\n\n";

// What a request asks for; items of images ask for nothing.
struct Asked {
  explicit Asked(const httplib::Request& request) {
    const auto body = nlohmann::json::parse(request.body, nullptr, false);
    if (!body.is_object() || !body.contains("prompt")) return;
    prompt = body["prompt"].size();
    output = body.value("max_tokens", output);
  }
  std::size_t prompt = 16, output = 2;
};

// An answer of two tokens or more.
std::string answer(std::size_t prompt, std::size_t output) {
  std::string text;
  for (std::size_t i = 1; i < output; ++i) text += kToken;
  return concat(text, kLastToken, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":", prompt,
                ",\"completion_tokens\":", output, "}}\n\ndata: [DONE]\n\n");
}
std::string answer(const Asked& asked) {
  return answer(asked.prompt, asked.output);
}

// Whether it is of a load, and not a knock at the door: of loads that ask for more than two tokens.
bool of_load(const httplib::Request& request) {
  return Asked(request).output > 2;
}

struct WideServer : httplib::Server {
  void widen() { (void)::listen(svr_sock_, 1024); }
};

// Answers at once, until told to be bad.
class BadEngine : public testing::Test {
 protected:
  BadEngine() {
    char pattern[] = "/tmp/aqua-profile-XXXXXX";
    directory_ = ::mkdtemp(pattern);
    ask_for("10,2\n20,2");
    server_.new_task_queue = [] { return new httplib::ThreadPool(64); };
    server_.set_keep_alive_max_count(1'000'000);
    server_.Get("/v1/models", [](const auto&, auto& reply) {
      reply.set_content(R"({"data":[{"id":"bad"}]})", "application/json");
    });
    server_.Get("/metrics", [this](const auto& request, auto& reply) {
      if (metrics_fail_ && loaded_ && !calm_.exchange(false)) return answer_500(request, reply);
      reply.set_content(
          concat("vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"1000\"} 1\n",
                 "vllm:kv_cache_usage_perc ", usage_.load(), "\n"),
          "text/plain");
    });
    server_.Post("/v1/completions", [this](const auto& request, auto& reply) {
      (of_load(request) ? loaded_ : calm_) = true;
      if (asked_++ < good_) return answer_well(request, reply);
      misbehave_(request, reply);
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    server_.widen();
    (void)httplib::Client("127.0.0.1", port_).Get("/v1/models");
  }
  ~BadEngine() override {
    released_ = true;
    released_.notify_all();
    server_.stop();
    thread_.join();
    std::filesystem::remove_all(directory_);
  }

  Result<std::string> profile() { return tool::run_profile(options(), stop_.get_token()); }
  tool::ProfileOptions options() const {
    tool::ProfileOptions options;
    options.url = concat("http://127.0.0.1:", port_);
    options.json = directory_ / "profile.json";
    options.trace = directory_ / "lengths.csv";
    options.requests = 20;
    options.speed = 1;
    options.range = {.from = 200, .to = 800, .step = 200};
    options.timeout = std::chrono::seconds(1);
    options.memory.bytes_per_token = 1000;
    options.bursts.clear();  // of sixty seconds
    options.progress = false;
    return options;
  }
  // The profile fails with this, and says so in what it leaves.
  void fails(Code code, const std::string& part) {
    const auto said = profile();
    ASSERT_FALSE(said.ok());
    EXPECT_EQ(to_string(said.error().code), to_string(code)) << said.error().message;
    EXPECT_NE(said.error().message.find(part), std::string::npos) << said.error().message;
  }
  Record kept() {
    auto record = parse_record(sim::read_file(directory_ / "profile.json").value());
    EXPECT_TRUE(record.ok());
    return record.ok() ? *record : Record{};
  }

  using Handler = std::function<void(const httplib::Request&, httplib::Response&)>;
  static void answer_well(const httplib::Request& request, httplib::Response& reply) {
    reply.set_content(answer(Asked(request)), "text/event-stream");
  }
  // `piece` again and again.
  Handler without_end(std::string piece) {
    return [this, piece](const auto&, auto& reply) {
      reply.set_chunked_content_provider(
          "text/event-stream", [this, piece](std::size_t, httplib::DataSink& sink) {
            return !released_ && sink.write(piece.data(), piece.size());
          });
    };
  }
  void ask_for(const char* lengths) {
    std::ofstream(directory_ / "lengths.csv") << "num_prefill_tokens,num_decode_tokens\n"
                                              << lengths << '\n';
  }
  static void answer_500(const httplib::Request&, httplib::Response& reply) {
    reply.status = 500;
    reply.set_content(R"({"error":{"message":"CUDA out of memory"}})", "application/json");
  }

  std::filesystem::path directory_;
  std::atomic<std::size_t> asked_{0};
  std::size_t good_ = SIZE_MAX;  // requests that are answered well
  std::atomic<double> usage_{0.5};
  bool metrics_fail_ = false;  // under load, but for the first reading after a knock
  std::atomic<bool> loaded_{false}, calm_{false};
  std::atomic<bool> released_{false};
  std::stop_source stop_;
  Handler misbehave_ = answer_500;
  WideServer server_;
  int port_ = 0;
  std::thread thread_;
};

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
    (page ? wanted.html : wanted.json) = directory_ / "nowhere" / "file";
    const auto said = tool::run_profile(wanted, {});
    ASSERT_FALSE(said.ok());
    EXPECT_EQ(said.error().code, Code::permission_denied);
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

TEST_F(BadEngine, LyingInItsMetricsIsSaid) {
  usage_ = 1.7;
  fails(Code::data_loss, "cannot be true: vllm:kv_cache_usage_perc is 1.7");
}

TEST_F(BadEngine, TellingItsMemoryOnlyBeforeALoadIsSaid) {
  ask_for("10,3");
  metrics_fail_ = true;
  auto wanted = options();
  wanted.memory.source = MemorySource::vllm;
  wanted.requests = 100;
  wanted.range = {.from = 100, .to = 100, .step = 1};  // a second: ten readings
  const auto said = tool::run_profile(wanted, {});
  ASSERT_FALSE(said.ok());
  EXPECT_EQ(said.error().code, Code::data_loss);
  EXPECT_NE(said.error().message.find("s: GET /metrics: the engine answers 500"), std::string::npos)
      << said.error().message;
  EXPECT_EQ(kept().profile.free_bytes, 0u);
}

TEST_F(BadEngine, LyingInItsUsageIsSaid) {
  good_ = 35;
  misbehave_ = [](const auto& request, auto& reply) {
    std::string text = answer(Asked(request));
    text.replace(text.find("\"completion_tokens\":2"), 21, "\"completion_tokens\":0");
    reply.set_content(text, "text/event-stream");
  };
  fails(Code::unavailable, "its usage says 0 tokens, 2 came");
}

TEST_F(BadEngine, EndingAnswersBeforeTheirLengthIsSaid) {
  ask_for("10,5");
  good_ = 0;
  misbehave_ = [](const auto& request, auto& reply) {
    reply.set_content(answer(Asked(request).prompt, 2), "text/event-stream");
  };
  fails(Code::data_loss, "ends answers before their length: after 2 of 5 tokens");
}

TEST_F(BadEngine, TakingPromptsForLongerOnesIsSaid) {
  good_ = 0;
  misbehave_ = [](const auto& request, auto& reply) {
    reply.set_content(answer(2 * Asked(request).prompt, 2), "text/event-stream");
  };
  fails(Code::data_loss, "takes prompts for other ones: of ");
}

TEST_F(BadEngine, ThatAddsATokenToEachPromptIsProfiled) {
  good_ = 0;
  misbehave_ = [](const auto& request, auto& reply) {
    reply.set_content(answer(Asked(request).prompt + 1, 2), "text/event-stream");
  };
  const auto said = profile();
  EXPECT_TRUE(said.ok()) << said.error().message;
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
  fails(Code::unavailable, "an answer without a token");
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
