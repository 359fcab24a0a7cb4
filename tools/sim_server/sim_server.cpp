// SPDX-License-Identifier: Apache-2.0
#include "tools/sim_server/sim_server.hpp"

#include <httplib.h>
#include <sys/socket.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "base/concat.hpp"
#include "tools/sim_server/live_engine.hpp"

namespace aqua::tool {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kThreads = 400;  // connections at once
constexpr std::chrono::milliseconds kHeartbeat{20};

// The library lets five connections wait, which a burst of them overruns.
struct WideServer : httplib::Server {
  void widen() { (void)::listen(svr_sock_, 1024); }
};

// The stream of one request: a token an event, usage, the end.
class Stream {
 public:
  Stream(LiveEngine& engine, std::shared_ptr<LiveEngine::Job> job)
      : engine_(engine), job_(std::move(job)) {}

  bool next(httplib::DataSink& sink) {
    const auto [produced, refused] = engine_.await(*job_, sent_, kHeartbeat);
    if (refused)
      return end(sink, Json{{"error", {{"message", "larger than all of the KV memory"}}}}, "");
    if (produced == sent_) return write(sink, ": busy\n\n");  // finds out who has gone
    for (; sent_ < produced; ++sent_) {
      const Json reason = sent_ + 1 == job_->output ? Json("length") : Json(nullptr);
      const Json event{{"object", "text_completion"},
                       {"choices", {{{"index", 0}, {"text", "x"}, {"finish_reason", reason}}}}};
      if (!write(sink, concat("data: ", event.dump(), "\n\n"))) return false;
    }
    if (sent_ < job_->output) return true;
    const Json last{{"choices", Json::array()},
                    {"usage", {{"prompt_tokens", job_->prompt}, {"completion_tokens", sent_}}}};
    return end(sink, last, "data: [DONE]\n\n");
  }

 private:
  static bool end(httplib::DataSink& sink, const Json& event, const char* after) {
    if (!write(sink, concat("data: ", event.dump(), "\n\n", after))) return false;
    sink.done();
    return true;
  }
  static bool write(httplib::DataSink& sink, const std::string& text) {
    return sink.write(text.data(), text.size());
  }

  LiveEngine& engine_;
  std::shared_ptr<LiveEngine::Job> job_;
  std::uint32_t sent_ = 0;
};

}  // namespace

struct SimServer::Impl {
  Impl(const sim::Ground& ground, double speed, int wanted) : engine(ground, speed) {
    server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server.set_keep_alive_max_count(1'000'000);
    server.set_tcp_nodelay(true);
    server.Post("/v1/completions", [this](const httplib::Request& request,
                                          httplib::Response& reply) { complete(request, reply); });
    server.Get("/v1/models", [&](const httplib::Request&, httplib::Response& reply) {
      const Json models{{"data", {{{"id", "simulated"}, {"max_model_len", 1'000'000}}}}};
      reply.set_content(models.dump(), "application/json");
    });
    server.Get("/metrics", [this, block = ground.scenario.server.kv_block_tokens](
                               const httplib::Request&, httplib::Response& reply) {
      const LiveEngine::Memory memory = engine.memory();
      reply.set_content(
          concat("vllm:cache_config_info{block_size=\"", block, "\",num_gpu_blocks=\"",
                 memory.blocks, "\"} 1\nvllm:kv_cache_usage_perc{engine=\"0\"} ",
                 static_cast<double>(memory.held) / memory.blocks, "\n"),
          "text/plain");
    });
    port = wanted == 0 ? server.bind_to_any_port("127.0.0.1") : wanted;
    if (wanted != 0 && !server.bind_to_port("127.0.0.1", wanted)) port = -1;
    thread = std::thread([this] { server.listen_after_bind(); });
    server.widen();
    (void)httplib::Client("127.0.0.1", port).Get("/v1/models");  // it is up
  }

  void complete(const httplib::Request& request, httplib::Response& reply) {
    const Json body = Json::parse(request.body, nullptr, false);
    if (!body.is_object() || !body.contains("prompt") || !body.contains("max_tokens")) {
      reply.status = 400;
      reply.set_content(R"({"error":{"message":"prompt and max_tokens, please"}})",
                        "application/json");
      return;
    }
    auto job = engine.submit(static_cast<std::uint32_t>(body.at("prompt").size()),
                             body.at("max_tokens").get<std::uint32_t>());
    auto stream = std::make_shared<Stream>(engine, job);
    reply.set_chunked_content_provider(
        "text/event-stream",
        [stream](std::size_t, httplib::DataSink& sink) { return stream->next(sink); },
        [this, job](bool) { engine.abort(job); });
  }

  LiveEngine engine;
  WideServer server;
  int port = 0;
  std::thread thread;
};

SimServer::SimServer(const sim::Ground& ground, double speed, int port)
    : impl_(std::make_unique<Impl>(ground, speed, port)) {}

SimServer::~SimServer() {
  impl_->server.stop();
  if (impl_->thread.joinable()) impl_->thread.join();
}

std::string SimServer::url() const {
  return concat("http://127.0.0.1:", impl_->port);
}

void SimServer::wait() {
  impl_->thread.join();
}

}  // namespace aqua::tool
