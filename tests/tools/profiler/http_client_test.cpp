// SPDX-License-Identifier: Apache-2.0
// What a client meets on its way: a stop, an answer without end, its own machine's limits.
#include "tools/http/http_client.hpp"

#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/resource.h>

#include <atomic>
#include <thread>

#include "tests/base/few_threads.hpp"
#include "tools/profiler/load/load_run.hpp"
#include "tools/profiler/memory/memory_watch.hpp"

namespace aqua::profiler {
namespace {

using namespace std::chrono_literals;

class HttpClientTest : public ::testing::Test {
 protected:
  HttpClientTest() {
    server_.Get("/metrics", [this](const auto&, auto& reply) {
      ++asked_;
      reply.set_content("used 1\ntotal 2\n", "text/plain");
    });
    server_.Get("/endless", [this](const auto& request, auto& reply) {
      reply.status = request.has_param("failed") ? 500 : 200;
      reply.set_chunked_content_provider("text/plain", [this](std::size_t, auto& sink) {
        const std::string piece(1 << 20, 'x');
        return !over_ && sink.write(piece.data(), piece.size());
      });
    });
    server_.Get("/hangs", [this](const auto&, auto&) {
      hangs_ = true;
      hangs_.notify_all();
      over_.wait(false);
    });
    url_.port = server_.bind_to_any_port("127.0.0.1");
    url_.host = "127.0.0.1";
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    (void)httplib::Client("127.0.0.1", url_.port).Get("/metrics");
  }
  ~HttpClientTest() override {
    over_ = true;
    over_.notify_all();
    server_.stop();
    thread_.join();
  }

  std::atomic<bool> over_{false}, hangs_{false};
  std::atomic<int> asked_{0};
  httplib::Server server_;
  std::thread thread_;
  EngineUrl url_;
};

TEST_F(HttpClientTest, StoppedStaysStopped) {
  HttpClient client(url_, {});
  EXPECT_TRUE(client.get("/metrics").ok());
  client.stop();
  const int before = asked_;
  EXPECT_EQ(client.get("/metrics").error().code, Code::cancelled);
  EXPECT_EQ(asked_, before);
}

TEST_F(HttpClientTest, AStopEndsACallThatHangs) {
  std::stop_source stop;
  EngineLink engine{.url = url_, .http = {.stop = stop.get_token()}};
  std::thread stopper([&] {
    hangs_.wait(false);
    stop.request_stop();
  });
  const auto start = Clock::now();
  EXPECT_EQ(fetch(engine, "/hangs").error().code, Code::cancelled);
  EXPECT_LT(Clock::now() - start, 30s) << "not the time limit of a minute";
  stopper.join();
  EXPECT_EQ(fetch(engine, "/metrics").error().code, Code::cancelled);
}

TEST_F(HttpClientTest, MemoryThatIsStoppedBeforeItIsReadIsNotWaitedFor) {
  std::stop_source stop;
  const EngineLink engine{.url = url_, .http = {.stop = stop.get_token()}};
  stop.request_stop();
  MemoryWatch watch(engine, {.source = MemorySource::prometheus, .used_metric = "used"}, 1ms);
  EXPECT_EQ(watch.peak().readings, 0u);
  EXPECT_EQ(watch.peak().fault, "stopped");
}

TEST(Memory, IsBelievedWhereItWasSeenOften) {
  const MemoryPeak seen{.readings = 3, .faults = 3, .watched = 40s, .unseen = 10s};
  EXPECT_TRUE(believable(seen).ok());
  EXPECT_TRUE(believable({.readings = 1, .watched = 900ms, .unseen = 900ms}).ok()) << "so short";
  for (const MemoryPeak& blind :
       {MemoryPeak{.fault = "why"}, MemoryPeak{.readings = 3, .faults = 4, .fault = "why"},
        MemoryPeak{.readings = 3, .fault = "why", .watched = 40s, .unseen = 11s}}) {
    EXPECT_EQ(believable(blind).error().code, Code::data_loss);
    EXPECT_TRUE(believable(blind).error().message.ends_with("s: why"));
  }
}

TEST_F(HttpClientTest, AnAnswerWithoutEndIsRefused) {
  const EngineLink engine{.url = url_};
  for (const char* path : {"/endless", "/endless?failed=1"}) {
    const auto body = fetch(engine, path);
    ASSERT_FALSE(body.ok());
    EXPECT_EQ(body.error().code, Code::data_loss) << body.error().message;
  }
}

TEST_F(HttpClientTest, WithoutADescriptorTheMachineIsNamed) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  HttpClient client(url_, {});
  const rlimit none{.rlim_cur = 3, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto reply = client.get("/metrics");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, Code::resource_exhausted) << reply.error().message;
  EXPECT_NE(reply.error().message.find("ulimit -n"), std::string::npos);
}

TEST_F(HttpClientTest, WithoutAThreadTheMachineIsNamed) {
  const EngineLink engine{.url = url_};
  const test::FewThreads none(0);
  LoadRun run(engine, {{.at_s = 0}, {.at_s = 0.001}}, {});
  const LoadResult result = run.run({});
  EXPECT_NE(result.shortage.find("pids limit"), std::string::npos) << result.shortage;
  MemoryWatch watch(engine, {.source = MemorySource::client, .kv_bytes = 1}, 1ms);
  EXPECT_NE(watch.peak().fault.find("pids limit"), std::string::npos);
}

TEST_F(HttpClientTest, MemoryIsReadAtEachInterval) {
  const EngineLink engine{.url = url_};
  const MemoryOptions named{
      .source = MemorySource::prometheus, .used_metric = "used", .total_metric = "total"};
  auto quickest = Clock::duration::max();
  for (int attempt = 0; attempt < 5 && quickest > 800ms; ++attempt) {  // the machine may be busy
    const auto start = Clock::now();
    asked_ = 0;
    MemoryWatch watch(engine, named, 100ms);
    while (asked_ < 6) std::this_thread::yield();
    quickest = std::min<Clock::duration>(quickest, Clock::now() - start);
  }
  EXPECT_GE(quickest, 490ms);
  EXPECT_LE(quickest, 800ms) << "six readings, a tenth of a second apart";
}

}  // namespace
}  // namespace aqua::profiler
