// SPDX-License-Identifier: Apache-2.0
// BadEngine: a server with an engine's endpoint that answers at once and well, until it is told to
// be bad.
//
// Threads: the tests'; handlers run on the server's.
#pragma once

#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/socket.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/concat.hpp"
#include "base/read_file.hpp"
#include "tools/cli/profile/profile_command.hpp"
#include "tools/profiler/search/record.hpp"
#include "tools/report/text.hpp"

namespace aqua::profiler {

inline const char* const kToken =
    "data: {\"choices\":[{\"text\":\"x\",\"finish_reason\":null}]}\n\n";
inline const char* const kLastToken =
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
inline std::string answer(std::size_t prompt, std::size_t output) {
  std::string text;
  for (std::size_t i = 1; i < output; ++i) text += kToken;
  return concat(text, kLastToken, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":", prompt,
                ",\"completion_tokens\":", output, "}}\n\ndata: [DONE]\n\n");
}
inline std::string answer(const Asked& asked) {
  return answer(asked.prompt, asked.output);
}

// Whether it is of a load, and not a probe of whether it answers: of loads that ask for more than
// two tokens.
inline bool of_load(const httplib::Request& request) {
  return Asked(request).output > 2;
}

struct WideServer : httplib::Server {
  void widen() { (void)::listen(svr_sock_, 1024); }
};

// Answers at once, until told to be bad.
class BadEngine : public ::testing::Test {
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
    options.out = directory_ / "profile.json";
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
    auto record = parse_record(read_file(directory_ / "profile.json").value());
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
  bool metrics_fail_ = false;  // under load, but for the first reading after a short request
  std::atomic<bool> loaded_{false}, calm_{false};
  std::atomic<bool> released_{false};
  std::stop_source stop_;
  Handler misbehave_ = answer_500;
  WideServer server_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace aqua::profiler
