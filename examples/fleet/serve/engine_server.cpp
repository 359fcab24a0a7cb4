// SPDX-License-Identifier: Apache-2.0
#include "serve/engine_server.hpp"

#include <httplib.h>
#include <sys/socket.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "aqua/schedule/metrics.hpp"
#include "must.hpp"
#include "speech/told.hpp"

namespace aqua::fleet {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kThreads = 512;  // connections at once
constexpr std::chrono::milliseconds kHeartbeat{20};
constexpr const char* kJson = "application/json";

void refuse(httplib::Response& reply, int status, const std::string& why) {
  reply.status = status;
  reply.set_content(Json{{"error", {{"message", why}}}}.dump(), kJson);
}

int status_of(Code code) {
  if (code == Code::invalid_argument) return 400;
  return code == Code::not_found ? 404 : 503;
}

}  // namespace

struct EngineServer::Impl {
  // The library lets five connections wait, which a burst of them overruns.
  struct WideServer : httplib::Server {
    void widen() { (void)::listen(svr_sock_, SOMAXCONN); }
  };

  // Hangs up when it goes: a client that is there has all by then.
  class Reading {
   public:
    Reading(Engine& engine, std::shared_ptr<Outbox> out) : engine_(engine), out_(std::move(out)) {}
    ~Reading() { engine_.hang_up(out_); }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

    // False: the client has gone.
    bool write(httplib::DataSink& sink) {
      Outbox::Taken taken = out_->take(kHeartbeat);
      if (taken.ended && !out_->refusal().empty()) taken.events += error_event(out_->refusal());
      if (taken.events.empty() && !taken.ended) taken.events = ": busy\n\n";
      if (!taken.events.empty() && !sink.write(taken.events.data(), taken.events.size()))
        return false;
      if (taken.ended) sink.done();
      return true;
    }
    // The whole answer at once, when it is there. False: the client has gone, or there is none.
    bool write_whole(httplib::DataSink& sink) {
      if (!out_->await_end(kHeartbeat)) return sink.is_writable();
      const Outbox::Whole whole = out_->whole();
      const std::string answer = whole_answer(whole.tokens, whole.text, whole.finish);
      if (!out_->refusal().empty() || !sink.write(answer.data(), answer.size())) return false;
      sink.done();
      return true;
    }
    Outbox& out() { return *out_; }

   private:
    Engine& engine_;
    std::shared_ptr<Outbox> out_;
  };

  Impl(Engine& engine_, const Model& model_, const Options& options_)
      : engine(engine_), model(model_), options(options_) {
    server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server.set_keep_alive_max_count(1'000'000);
    server.set_tcp_nodelay(true);
    server.Post("/v1/completions", [this](const httplib::Request& request,
                                          httplib::Response& reply) { complete(request, reply); });
    server.Post("/aqua/v1/orders",
                [this](const httplib::Request& request, httplib::Response& reply) {
                  auto order = parse_order(request.body);
                  if (!order.ok()) return refuse(reply, 400, order.error().message);
                  const auto done = engine.order(std::move(order).value());
                  if (!done.ok())
                    return refuse(reply, status_of(done.error().code), done.error().message);
                  reply.set_content("{}", kJson);
                });
    server.Post("/tokenize", [this](const httplib::Request& request, httplib::Response& reply) {
      const auto text = parse_tokenize(request.body);
      if (!text.ok()) return refuse(reply, 400, text.error().message);
      const auto tokens = model.tokens_of(*text);
      if (!tokens.ok()) return refuse(reply, 400, tokens.error().message);
      reply.set_content(Json{{"tokens", *tokens}}.dump(), kJson);
    });
    add_questions();
    const std::string& at = options.address;
    port = options.port == 0 ? server.bind_to_any_port(at) : options.port;
    if (options.port != 0 && !server.bind_to_port(at, options.port)) port = -1;
    if (port <= 0)
      throw example::Failure("cannot listen on " + at + ":" + std::to_string(options.port));
    thread = std::thread([this] { (void)server.listen_after_bind(); });
    server.widen();
    (void)httplib::Client(at, port).Get("/health");  // it is up
  }

  void add_questions() {
    const auto get = [this](const char* path, auto answer) {
      server.Get(path, [answer](const httplib::Request&, httplib::Response& reply) {
        reply.set_content(answer().dump(), kJson);
      });
    };
    get("/health", [] { return Json::object(); });
    get("/v1/models", [this] {
      return Json{{"data", {{{"id", model.name()}, {"max_model_len", model.context()}}}}};
    });
    server.Get("/metrics", [this](const httplib::Request&, httplib::Response& reply) {
      reply.set_content(metrics(), "text/plain");
    });
    if (options.cache.keeper.empty()) return;  // it is of no pool
    // Keepers of two servers may have one path.
    const std::string keeper = (options.server.empty() ? "" : options.server + ":") +
                               std::filesystem::absolute(options.cache.keeper).string();
    server.Get("/aqua/v1/pool", [this, keeper](const httplib::Request&, httplib::Response& reply) {
      const EngineStatus now = engine.status();
      const Json pool{{"pool", keeper + "#" + options.cache.pool},
                      {"role", options.cache.role},
                      {"reaches", options.cache.reaches},
                      {"away", now.keeper_away},
                      {"why", now.why_away}};
      reply.set_content(pool.dump(), kJson);
    });
  }

  [[nodiscard]] std::string metrics() const {
    const EngineStatus now = engine.status();
    const auto line = [](const std::string& name, std::uint64_t value) {
      return name + " " + std::to_string(value) + "\n";
    };
    return schedule::to_metrics(now.scheduler) +
           line("vllm:cache_config_info{block_size=\"" +
                    std::to_string(options.cache.tokens_per_block) + "\",num_gpu_blocks=\"" +
                    std::to_string(now.blocks) + "\"}",
                1) +
           line("fleet_blocks_held", now.scheduler.device_blocks_held) +
           line("fleet_blocks_of_rooms", now.rooms) + line("fleet_blocks_kept", now.kept) +
           line("fleet_requests", now.requests) + line("fleet_requests_in_moves", now.in_moves) +
           line("fleet_iterations_total", now.iterations) +
           line("fleet_prefilled_tokens_total", now.prefilled) +
           line("fleet_moved_in_total", now.moved_in) + line("fleet_copies_total", now.copies) +
           line("fleet_recalls_refused_total", now.recalls_refused) +
           line("fleet_keeper_away", now.keeper_away ? 1 : 0) +
           line("fleet_rejoins_total", now.rejoins) + line("fleet_lent_bytes", now.lent_bytes) +
           line("fleet_wakes_total", now.wakes) + "fleet_wake_seconds_total " +
           std::to_string(now.wake_seconds) + "\n";
  }

  // Its prompt is tokens then, and no more than the model can go on with.
  [[nodiscard]] Result<void> cut_prompt(Asked& asked) const {
    if (asked.prompt.empty()) {
      auto tokens = model.tokens_of({.prompt = asked.text});
      if (!tokens.ok()) return std::move(tokens).error();
      asked.prompt = std::move(tokens).value();
    }
    for (const Token token : asked.prompt) {
      if (!model.has(token))
        return Error{Code::invalid_argument, "prompt: there is no token " + std::to_string(token)};
    }
    const std::uint64_t room = std::min<std::uint64_t>(
        model.context(), std::uint64_t{options.blocks} * options.cache.tokens_per_block);
    if (asked.max_tokens == 0 && asked.prompt.size() < room)
      asked.max_tokens = static_cast<std::uint32_t>(room - asked.prompt.size());
    const std::uint64_t wanted = asked.prompt.size() + std::max(1U, asked.max_tokens);
    if (wanted <= model.context() && asked.max_tokens > 0) return {};
    return Error{Code::invalid_argument, "prompt and max_tokens are " + std::to_string(wanted) +
                                             " tokens, of 2 to " + std::to_string(model.context())};
  }

  void complete(const httplib::Request& request, httplib::Response& reply) {
    auto asked = parse_asked(request.body);
    if (!asked.ok()) return refuse(reply, 400, asked.error().message);
    if (const auto cut = cut_prompt(*asked); !cut.ok())
      return refuse(reply, 400, cut.error().message);
    const bool stream = asked->stream;
    auto reading = std::make_shared<Reading>(engine, engine.submit(std::move(asked).value()));
    if (stream) {
      return reply.set_chunked_content_provider(
          "text/event-stream",
          [reading](std::size_t, httplib::DataSink& sink) { return reading->write(sink); });
    }
    // The status is known with the first token. From there on it is seen when the client goes;
    // until then it costs no more than its place.
    while (!over && !reading->out().await_token(kHeartbeat)) continue;
    const std::string why = reading->out().refusal();
    if (over || !why.empty()) return refuse(reply, over ? 503 : 400, why);
    reply.set_chunked_content_provider(kJson, [reading](std::size_t, httplib::DataSink& sink) {
      return reading->write_whole(sink);
    });
  }

  Engine& engine;
  const Model& model;
  const Options options;
  std::atomic<bool> over{false};
  WideServer server;
  int port = 0;
  std::thread thread;
};

EngineServer::EngineServer(Engine& engine, const Model& model, const Options& options)
    : impl_(std::make_unique<Impl>(engine, model, options)) {}

EngineServer::~EngineServer() {
  stop();
}

int EngineServer::port() const {
  return impl_->port;
}

void EngineServer::stop() {
  impl_->over = true;
  impl_->server.stop();
  if (impl_->thread.joinable()) impl_->thread.join();
}

}  // namespace aqua::fleet
