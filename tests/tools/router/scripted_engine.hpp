// SPDX-License-Identifier: Apache-2.0
// ScriptedEngine: an engine of the test's own, which answers as it is told: rightly, or with what a
// test has put in the way of a warm-up, of an answer, or of what it says of itself.
//
// Threads: every method from any; hooks run on the engine's.
#pragma once

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "tools/sim_server/sim_request.hpp"
#include "tools/sim_server/vocabulary.hpp"

namespace aqua::router::test {

class ScriptedEngine {
 public:
  // Runs before each token is said; what it answers is said in place of the event. "": the token's.
  // "cut": the connection ends. "again": the event before it is said once more. "skip": this token
  // is left out. Whoever is asked by a named attempt (`aqua`) tells turn and position of each.
  using Hook = std::function<std::string(std::uint32_t token)>;

  ScriptedEngine() {
    server_.new_task_queue = [] { return new httplib::ThreadPool(32); };
    server_.set_pre_routing_handler(
        [this](const httplib::Request& request, httplib::Response& reply) {
          if (!stalls_at(request.path)) return httplib::Server::HandlerResponse::Unhandled;
          stall(reply);
          return httplib::Server::HandlerResponse::Handled;
        });
    server_.Get("/health", [](const auto&, auto&) {});
    server_.Get("/v1/models", [this](const auto&, auto& reply) {
      reply.set_content(traits().models, "application/json");
    });
    server_.Get("/metrics", [this](const auto&, auto& reply) {
      reply.set_content("vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"" +
                            traits().blocks + "\"} 1\n",
                        "text/plain");
    });
    server_.Get("/aqua/v1/pool", [this](const auto&, auto& reply) {
      const Traits now = traits();
      ++pools_told;
      if (now.pool.empty()) {
        reply.status = now.pool_status;
      } else {
        reply.set_content(now.pool, "application/json");
      }
    });
    server_.Post("/aqua/v1/orders", [this](const auto& request, auto& reply) {
      OrderHook hook;
      {
        const std::lock_guard lock(mu_);
        hook = orders_;
      }
      reply.status = hook ? hook(nlohmann::json::parse(request.body)) : 404;
      reply.set_content("{}", "application/json");
    });
    server_.Post("/tokenize", [this](const auto& request, auto& reply) {
      auto ids = tool::parse_sim_request(request.body).value().prompt;
      ids.resize(ids.size() - traits().cuts_off);
      reply.set_content(nlohmann::json{{"tokens", ids}}.dump(), "application/json");
    });
    server_.Post("/v1/completions",
                 [this](const auto& request, auto& reply) { answer(request, reply); });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    (void)httplib::Client("127.0.0.1", port_).Get("/health");
  }
  ~ScriptedEngine() {
    end_.set_value();
    server_.stop();
    thread_.join();
  }

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // What it says of itself.
  struct Traits {
    std::string models = R"({"data":[{"id":"simulated"}]})";
    std::string blocks = "60";
    std::string pool{};        // its answer to /aqua/v1/pool; "": the status
    int pool_status = 404;     // there
    std::size_t cuts_off = 0;  // ids that its tokenizer leaves out
  };
  void be(Traits traits) {
    const std::lock_guard lock(mu_);
    traits_ = std::move(traits);
  }
  // Sets the hooks of warm-ups (one token), and of answers.
  void script(Hook warm_up, Hook answers) {
    const std::lock_guard lock(mu_);
    warm_up_ = std::move(warm_up);
    answers_ = std::move(answers);
  }
  // Answers an order about a move by KV with a status.
  using OrderHook = std::function<int(const nlohmann::json& order)>;
  void obey(OrderHook orders) {
    const std::lock_guard lock(mu_);
    orders_ = std::move(orders);
  }
  // Whether it is over by then: waits so long for that.
  [[nodiscard]] bool over(std::chrono::milliseconds patience = {}) const {
    return over_.wait_for(patience) == std::future_status::ready;
  }
  // What it answers at this path never ends from now on: it drips, a byte now and then, or says
  // nothing at all.
  enum class Stall : std::uint8_t { drips, is_silent };
  void stall_at(std::string path, Stall how) {
    const std::lock_guard lock(mu_);
    stalls_at_ = std::move(path);
    stall_ = how;
  }

  std::atomic<int> status{200};           // of answers
  std::atomic<bool> refuses{false};       // the next one, with 400
  std::atomic<int> asked{0}, running{0};  // answers, warm-ups among them
  std::atomic<int> warm_ups{0};
  std::atomic<int> pools_told{0};  // answers to /aqua/v1/pool
  std::atomic<int> stalled{0};     // calls that ran into it, so far

 private:
  [[nodiscard]] Traits traits() {
    const std::lock_guard lock(mu_);
    return traits_;
  }
  [[nodiscard]] bool stalls_at(const std::string& path) {
    const std::lock_guard lock(mu_);
    return path == stalls_at_;
  }
  void stall(httplib::Response& reply) {
    ++stalled;
    Stall how{};
    {
      const std::lock_guard lock(mu_);
      how = stall_;
    }
    if (how == Stall::is_silent) return over_.wait();
    reply.set_chunked_content_provider("application/json",
                                       [this](std::size_t, httplib::DataSink& sink) {
                                         constexpr std::chrono::milliseconds kPace{20};
                                         return !over(kPace) && sink.write(" ", 1);
                                       });
  }
  void answer(const httplib::Request& http, httplib::Response& reply) {
    ++asked;
    reply.status = refuses.exchange(false) ? 400 : status.load();
    if (reply.status != 200) {
      reply.set_content(R"({"error":{"message":"as the script has it"}})", "application/json");
      return;
    }
    const auto request = tool::parse_sim_request(http.body).value();
    const bool warm = request.max_tokens == 1;
    warm_ups += warm ? 1 : 0;
    Hook hook;
    {
      const std::lock_guard lock(mu_);
      hook = warm ? warm_up_ : answers_;
    }
    ++running;
    reply.set_chunked_content_provider(
        "text/event-stream",
        [hook, request, name = nlohmann::json::parse(http.body).value("aqua", nlohmann::json()),
         next = tool::Continuation(request.prompt, request.seed), said = 0U, before = std::string(),
         text = tool::Detokenizer()](std::size_t, httplib::DataSink& sink) mutable {
          std::string event = hook ? hook(said) : "";
          if (event == "cut") return false;
          if (event == "again") return sink.write(before.data(), before.size());
          if (!event.empty() && event != "skip") return sink.write(event.data(), event.size());
          const bool skips = !event.empty();
          const auto id = next.next(false);
          const bool last = ++said == request.max_tokens;
          const nlohmann::json choice{
              {"text", text.feed(id)},
              {"token_ids", {id}},
              {"finish_reason", last ? nlohmann::json("length") : nlohmann::json()}};
          nlohmann::json told{{"choices", {choice}}};
          if (!name.is_null()) {
            const std::uint64_t position = name.at("answered").get<std::uint64_t>() + said - 1;
            told["aqua"] = {{"turn", name.at("turn")}, {"position", position}};
          }
          if (skips) return true;
          before = "data: " + told.dump() + "\n\n";
          event = before + (last ? "data: [DONE]\n\n" : "");
          if (!sink.write(event.data(), event.size())) return false;
          if (last) sink.done();
          return true;
        },
        [this](bool) { --running; });
  }

  httplib::Server server_;
  int port_ = 0;
  std::mutex mu_;
  Traits traits_;
  Hook warm_up_, answers_;
  OrderHook orders_;
  std::string stalls_at_{};
  Stall stall_{};
  std::promise<void> end_{};
  const std::shared_future<void> over_ = end_.get_future().share();
  std::thread thread_;
};

inline void PrintTo(ScriptedEngine::Stall stall, std::ostream* out) {
  *out << (stall == ScriptedEngine::Stall::drips ? "drips" : "is silent");
}

}  // namespace aqua::router::test
