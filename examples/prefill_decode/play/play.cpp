// SPDX-License-Identifier: Apache-2.0
#include "play/play.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

#include "engine.hpp"
#include "model/llama_shape.hpp"
#include "must.hpp"
#include "play/fleet.hpp"
#include "play/goals.hpp"
#include "play/pool_memory.hpp"
#include "play/weights_compared.hpp"
#include "summary.hpp"
#include "tools/report/goal.hpp"
#include "verdict.hpp"

namespace aqua::prefill_decode {
namespace {

using example::Failure;
using Json = nlohmann::json;

// Seconds between the tokens of an answer.
std::vector<double> gaps(const Outcomes& outcomes, std::uint64_t below) {
  std::vector<double> all;
  for (const auto& [id, outcome] : outcomes) {
    if (id >= below) continue;
    double last = outcome.first;
    for (const double at : outcome.answer->at) {
      all.push_back(at - last);
      last = at;
    }
  }
  return all;
}

std::vector<double> first_tokens(const Outcomes& outcomes, std::uint64_t from) {
  std::vector<double> all;
  for (const auto& [id, outcome] : outcomes) {
    if (id >= from) all.push_back(outcome.first - outcome.sent);
  }
  return all;
}

// One way to serve, and what is to be known of it.
struct Run {
  Outcomes outcomes{};
  std::uint64_t pool_bytes = 0;  // of the pool, that all processes have mapped together
  bool same_memory = true;       // they have mapped the same
};

void note_memory(const Fleet& fleet, pid_t keeper, Run& run) {
  std::set<std::string> inodes;
  for (const pid_t pid : fleet.pids()) {
    const PoolMemory memory = pool_memory(pid, keeper);
    run.pool_bytes += memory.proportional_bytes;
    if (inodes.empty()) inodes = memory.inodes;
    run.same_memory = run.same_memory && !inodes.empty() && memory.inodes == inodes;
  }
}

class Play {
 public:
  explicit Play(const Options& options)
      : options_(options),
        file_(llama_example::model_file(options.model)),
        model_(file_),
        keeper_(options, file_) {}

  int run() {
    if (!options_.json.empty()) example::write_json(options_.json, report_);
    report_["engine"] = options_.engine == EngineKind::paged ? "paged" : "llama.cpp";
    std::printf("%s\n", model_.description().c_str());
    compare_conversations();
    if (options_.weight_rounds > 0) {
      WeightsCompared compared(options_, model_, file_, keeper_.directory(), stop_);
      report_["weights"] = compared.run();
      check(compared.equal(), "shared weights give other answers than private ones");
    }
    if (options_.long_prompts > 0) compare_long_prompts();
    report_["goals"] = goals_of(report_);
    report::print_goals(report_["goals"]);
    if (!options_.json.empty()) example::write_json(options_.json, report_);
    return example::verdict(complaints_);
  }

 private:
  void check_room(const std::vector<TimedRequest>& requests) const {
    for (const auto& [at, request] : requests) {
      const std::size_t tokens = request.prompt.size() + request.answer_tokens;
      if (tokens <= std::size_t{options_.blocks} * kTokensPerBlock) continue;
      throw Failure("a conversation of " + std::to_string(tokens) +
                    " tokens does not fit a pool of " + std::to_string(options_.blocks) +
                    " blocks of " + std::to_string(kTokensPerBlock) + ": give more --blocks");
    }
  }

  Run serve(bool two, const std::vector<TimedRequest>& requests, const Options& options,
            bool kill = false) {
    check_room(requests);
    Fleet fleet(two, options, file_, keeper_.directory(), stop_);
    bool killed = !kill;
    Run run;
    run.outcomes = fleet.serve(requests, [&](std::size_t answered) {
      if (killed || answered < requests.size() / 2) return;
      fleet.replace_decode();
      killed = true;
    });
    note_memory(fleet, keeper_.pid(), run);
    fleet.finish();
    return run;
  }

  void check(bool held, const std::string& complaint) {
    if (!held) complaints_.push_back(complaint);
  }

  void compare_conversations() {
    const auto requests = make_conversations(model_, options_);
    const Run two = serve(true, requests, options_, options_.kill_decode);
    const Run one = serve(false, requests, options_);
    std::size_t equal = 0, equal_tokens = 0;
    std::uint64_t copied = 0;
    for (const auto& [id, outcome] : two.outcomes) {
      const Answer& here = *outcome.answer;
      const Answer& there = *one.outcomes.at(id).answer;
      equal_tokens += here.tokens == there.tokens ? 1U : 0U;
      equal += here.tokens == there.tokens && here.logits_hash == there.logits_hash ? 1U : 0U;
      copied += here.copied_bytes;
    }
    const double memory = static_cast<double>(two.pool_bytes) / static_cast<double>(one.pool_bytes);
    report_["conversations"] = {
        {"answered", two.outcomes.size()},
        {"equal_tokens", equal_tokens},
        {"equal_logits", equal},
        {"copied_bytes", copied},
        {"same_memory", two.same_memory},
        {"pool_bytes", two.pool_bytes},
        {"pool_bytes_of_one_process", one.pool_bytes},
        {"memory_ratio", memory},
        {"tokens_per_second", tokens_per_second(two.outcomes)},
        {"tokens_per_second_of_one_process", tokens_per_second(one.outcomes)},
        {"decode_killed", options_.kill_decode}};
    std::printf("%zu conversations%s: %zu with the tokens of one process, %zu with its logits\n",
                two.outcomes.size(), options_.kill_decode ? ", decode killed midway" : "",
                equal_tokens, equal);
    std::printf(
        "KV bytes that engines copied: %llu; the cache takes %.3f times the memory of one "
        "process's\n",
        static_cast<unsigned long long>(copied), memory);
    // llama.cpp's logits depend in their last bits on how a prompt was cut into chunks.
    const bool paged = options_.engine == EngineKind::paged;
    check((paged ? equal : equal_tokens) == requests.size(),
          "answers differ from those of one process");
    compare_with_llama_cpp(two.outcomes);
    check(two.same_memory, "the processes have not the same memory mapped");
    check(one.pool_bytes > 0 && memory <= 1.02, "two processes take more memory than one");
    // An answer of one token is prefill's own.
    const bool in_place = paged || options_.answer_tokens == 1;
    check((copied == 0) == in_place, in_place ? "KV was copied" : "no KV was copied");
  }

  // Whether llama.cpp, with weights of the file, would have said each token of the answers, given
  // those before it. Its sums are in another order: where two tokens are nearly as likely it may
  // take the other one.
  void compare_with_llama_cpp(const Outcomes& outcomes) {
    std::size_t longest = 0, tokens = 0, equal = 0;
    for (const auto& [id, outcome] : outcomes) {
      longest = std::max(longest, outcome.request.prompt.size());
    }
    llama_example::Engine engine(model_, 1, static_cast<unsigned>(longest) + options_.answer_tokens,
                                 2 * options_.threads);
    for (const auto& [id, outcome] : outcomes) {
      std::span<const Token> given(outcome.request.prompt);
      std::size_t past = 0;
      for (const Token& said : outcome.answer->tokens) {
        const auto next = engine.decode(0, static_cast<unsigned>(past), given);
        past += given.size();
        equal += next.token == said ? 1U : 0U;
        given = std::span(&said, 1);
      }
      tokens += outcome.answer->tokens.size();
      engine.drop(0);
    }
    const double share = static_cast<double>(equal) / static_cast<double>(tokens);
    report_["conversations"]["tokens_as_llama_cpp"] = share;
    std::printf("%.1f %% of the tokens are what llama.cpp says after those before them\n",
                share * 100);
    check(share >= 0.9, "llama.cpp answers otherwise");
  }

  void compare_long_prompts() {
    const auto requests = make_long_prompts(model_, options_, options_.long_every);
    const Run two = serve(true, requests, options_);
    const Run one = serve(false, requests, options_);
    const auto two_gaps = gaps(two.outcomes, kFirstLong), one_gaps = gaps(one.outcomes, kFirstLong);
    const double two_p99 = report::quantile(two_gaps, 0.99);
    const double one_p99 = report::quantile(one_gaps, 0.99);
    const auto about = [&](const Run& run) -> Json {
      return {{"seconds_between_tokens", example::summary(gaps(run.outcomes, kFirstLong))},
              {"seconds_to_first_token_of_long",
               example::summary(first_tokens(run.outcomes, kFirstLong))},
              {"tokens_per_second", tokens_per_second(run.outcomes)}};
    };
    report_["long_prompts"] = {{"tokens", options_.long_tokens},
                               {"prompts", options_.long_prompts},
                               {"two_processes", about(two)},
                               {"one_process", about(one)},
                               {"p99_ratio", one_p99 / two_p99}};
    std::printf("%u prompts of %u tokens while others are answered:\n", options_.long_prompts,
                options_.long_tokens);
    std::printf("p99 between tokens: %.1f ms in two processes, %.1f ms in one: %.1f times better\n",
                two_p99 * 1e3, one_p99 * 1e3, one_p99 / two_p99);
  }

  const Options& options_;
  const example::StopSignals stop_;  // before any thread
  const std::filesystem::path file_;
  const llama_example::Model model_;
  Keeper keeper_;
  Json report_ = Json::object();
  std::vector<std::string> complaints_;
};

}  // namespace

int play(const Options& options) {
  return Play(options).run();
}

}  // namespace aqua::prefill_decode
