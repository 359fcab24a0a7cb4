// SPDX-License-Identifier: Apache-2.0
#include "tools/sim_server/sim_server.hpp"

#include <httplib.h>
#include <sys/socket.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/concat.hpp"
#include "tools/sim_server/live_engine.hpp"
#include "tools/sim_server/sim_answer.hpp"
#include "tools/sim_server/sim_request.hpp"

namespace aqua::tool {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kThreads = 400;  // connections at once
constexpr std::uint32_t kMostIds = 1'000'000;
constexpr const char* kJson = "application/json";

void refuse(httplib::Response& reply, int status, const std::string& why) {
  reply.status = status;
  reply.set_content(Json{{"error", {{"message", why}}}}.dump(), kJson);
}

}  // namespace

struct SimServer::Impl {
  // The library lets five connections wait, which a burst of them overruns.
  struct WideServer : httplib::Server {
    void widen() { (void)::listen(svr_sock_, SOMAXCONN); }
  };

  // Counts one request while it lives.
  class Place {
   public:
    explicit Place(std::atomic<std::uint32_t>& taken) : taken_(taken) { ++taken_; }
    ~Place() { --taken_; }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    std::atomic<std::uint32_t>& taken_;
  };

  Impl(const sim::Ground& ground, double speed, int wanted, SimManners manners_)
      : manners(std::move(manners_)), engine(ground, speed) {
    server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server.set_keep_alive_max_count(1'000'000);
    server.set_tcp_nodelay(true);
    for (const char* path : {"/v1/completions", "/v1/chat/completions"}) {
      server.Post(path, [this](const httplib::Request& request, httplib::Response& reply) {
        complete(request, reply);
      });
    }
    server.Post("/tokenize", [](const httplib::Request& request, httplib::Response& reply) {
      const auto asked = parse_sim_request(request.body);
      if (!asked.ok()) return refuse(reply, 400, asked.error().message);
      const Json told{
          {"count", asked->prompt.size()}, {"max_model_len", kMostIds}, {"tokens", asked->prompt}};
      reply.set_content(told.dump(), kJson);
    });
    server.Get("/health", [](const httplib::Request&, httplib::Response&) {});
    server.Get("/v1/models", [this](const httplib::Request&, httplib::Response& reply) {
      const Json models{{"data", {{{"id", manners.model}, {"max_model_len", kMostIds}}}}};
      reply.set_content(models.dump(), kJson);
    });
    server.Get("/metrics", [this, block = ground.scenario.server.kv_block_tokens](
                               const httplib::Request&, httplib::Response& reply) {
      const LiveEngine::Memory memory = engine.memory();
      const std::uint64_t told =
          manners.told_tokens > 0 ? manners.told_tokens / block : memory.blocks;
      reply.set_content(
          concat("vllm:cache_config_info{block_size=\"", block, "\",num_gpu_blocks=\"", told,
                 "\"} 1\nvllm:kv_cache_usage_perc{engine=\"0\"} ",
                 static_cast<double>(memory.held) / memory.blocks, "\n"),
          "text/plain");
    });
    port = wanted == 0 ? server.bind_to_any_port("127.0.0.1") : wanted;
    if (wanted != 0 && !server.bind_to_port("127.0.0.1", wanted)) port = -1;
    thread = std::thread([this] { server.listen_after_bind(); });
    server.widen();
    (void)httplib::Client("127.0.0.1", port).Get("/v1/models");  // it is up
  }

  void complete(const httplib::Request& http, httplib::Response& reply) {
    auto request = parse_sim_request(http.body);
    if (!request.ok()) return refuse(reply, 400, request.error().message);
    request->tell_ids = request->tell_ids && manners.tells_ids;
    auto place = std::make_shared<Place>(taken);
    if (manners.most > 0 && taken > manners.most) return refuse(reply, 503, "full");
    const bool stream = request->stream;
    auto answer = std::make_shared<SimAnswer>(engine, *std::move(request));
    if (!stream) {
      const auto whole = answer->whole([this] { return over.load(); });
      if (!whole.ok()) return refuse(reply, 400, whole.error().message);
      reply.set_content(*whole, kJson);
      return;
    }
    reply.set_chunked_content_provider("text/event-stream",
                                       [answer, place](std::size_t, httplib::DataSink& sink) {
                                         bool ended = false;
                                         const std::string events = answer->next_events(ended);
                                         if (!sink.write(events.data(), events.size()))
                                           return false;
                                         if (ended) sink.done();
                                         return true;
                                       });
  }

  const SimManners manners;
  LiveEngine engine;
  std::atomic<std::uint32_t> taken{0};
  std::atomic<bool> over{false};
  WideServer server;
  int port = 0;
  std::thread thread;
};

SimServer::SimServer(const sim::Ground& ground, double speed, int port, SimManners manners)
    : impl_(std::make_unique<Impl>(ground, speed, port, std::move(manners))) {}

SimServer::~SimServer() {
  impl_->over = true;
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
