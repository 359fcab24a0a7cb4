// SPDX-License-Identifier: Apache-2.0
// Serving sends requests through a pipeline, a batch at the same time, and collects the answers.
// When a process has been killed, each sequence goes on at a point of its own, by plan_recovery():
// tokens that are there count, and none is computed twice. When the keeper has, or a host was lost,
// prompts that were streamed and may not have been taken are given to prefill again.
//
// Threads: one. Errors: Failure.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hosts/hosts.hpp"
#include "play/latency.hpp"
#include "play/processes.hpp"
#include "play/recovery.hpp"
#include "play/workload.hpp"
#include "workplace.hpp"

namespace aqua::pipeline {

// A stage's process was killed.
struct Interruption {
  using Time = std::chrono::steady_clock::time_point;
  std::string pipeline{};
  unsigned stage = 0;
  // It ended, as its parent hears; the group has begun another term, since a coordinator has found
  // that; all have left the old one, and have said what there is; what is read from replicas is
  // there, and all are connected; the group runs; the next token came, of any answer.
  std::optional<Time> died{}, noticed{};
  Time surveyed{}, restored{}, resumed{};
  std::optional<Time> next_token{};
};

// Tokens by sequence.
using Answers = std::map<Word, std::vector<std::uint32_t>>;

struct Served {
  Answers answers{};
  std::size_t tokens = 0;  // of all answers
  std::chrono::steady_clock::time_point began{};
  double seconds = 0;
  std::vector<Interruption> interruptions{};
  std::vector<HostTraffic> hosts{};
  std::vector<Reckoning> reckonings{};  // of recoveries that go on from what there is
  unsigned recoveries = 0;
  unsigned deaths = 0;  // of processes; several may go into one recovery
  unsigned silent = 0;  // of these, killed since nobody had heard of them for long
  unsigned coordinator_deaths = 0, coordinator_stops = 0, keeper_deaths = 0, keeper_stops = 0;
  unsigned prompts_again = 0;      // that were given again since what was streamed was lost
  std::size_t computed_again = 0;  // tokens, prompts too, whose KV had been there
  std::size_t restored = 0;        // tokens whose KV a stage has read from replicas
  // At all keepers, of replicas and of streams, once all processes had ended. None: nobody could
  // look, and `not_looked` says why.
  std::optional<std::size_t> segments_left{};
  std::string not_looked{};
  double recovery_seconds = 0;   // from a death that was noticed to the next token, the longest
  Latencies latencies{};         // of requests, from their prompts to their last tokens
  std::set<Word> interrupted{};  // requests that a pipeline had in hand when a process of it died
};

class Serving {
 public:
  // Both may be one. `losses`: how often what is streamed between them has been lost so far, as
  // with a keeper; empty: it never is.
  Serving(Processes& prefill, Processes& decode, std::function<unsigned()> losses,
          const std::vector<Request>& requests, const Options& options,
          const example::StopSignals& stop);

  // Returns once all are answered. `on_tokens` is told how many tokens are there, of all answers.
  [[nodiscard]] Served run(const std::function<void(std::size_t tokens)>& on_tokens = {});

 private:
  using Clock = std::chrono::steady_clock;

  void begin_more();
  void end(Word sequence);
  void listen();
  void recover(Processes& broken);
  // What of the pipeline's sequences are interrupted, and what of them is known.
  [[nodiscard]] std::vector<Interrupted> interrupted_in(const Processes& broken) const;
  [[nodiscard]] std::vector<KnownSequence> known_of(const std::vector<Interrupted>& all) const;
  // Forgets the answers to requests that are running. Returns those whose prompts nobody has.
  [[nodiscard]] std::vector<Word> start_over(bool prompts_too);
  void go_on_by(const kv_stream::RecoveryPlan& plan, bool prompts);
  [[nodiscard]] bool apart() const { return &prefill_ != &decode_; }
  enum class Delivered : std::uint8_t { more, last, again };
  Delivered deliver(const Sampled& sampled);
  void give_prompt(const Request& request);
  void go_on(const Request& request, std::uint32_t from);
  void recover_broken();
  void give_lost_prompts();

  Processes& prefill_;
  Processes& decode_;
  const std::function<unsigned()> losses_;
  const std::vector<Request>& requests_;
  const Options& options_;
  const example::StopSignals& stop_;
  std::map<Word, const Request*> running_{};
  Served served_{};
  std::map<Word, std::uint32_t> attempts_{};   // of prompts that were given to prefill
  std::map<Word, Clock::time_point> since_{};  // that requests run
  // Tokens of the prompts that were under way when one was given, its own counted. Of prompts that
  // no recovery has delayed, whose first token tells how long all of these took.
  std::map<Word, std::size_t> together_{};
  // What recovery costs, of both pipelines: where they are apart, prefill alone computes prompts,
  // and decode's recovery is reckoned with what they took there.
  kv_stream::RecoveryCosts costs_{};
  std::size_t begun_ = 0;
  unsigned losses_heard_;                       // after which prompts were given again
  Clock::time_point last_news_ = Clock::now();  // of the last tokens, or recovery
  std::optional<Clock::time_point> noticed_{};  // a death after which no token has come yet
};

}  // namespace aqua::pipeline
