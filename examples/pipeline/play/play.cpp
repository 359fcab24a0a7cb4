// SPDX-License-Identifier: Apache-2.0
#include "play/play.hpp"

#include <cstdio>

#include "must.hpp"
#include "play/serving.hpp"
#include "verdict.hpp"
#include "workplace.hpp"

namespace aqua::pipeline {
namespace {

constexpr const char* kReference = "reference";

class Play {
 public:
  explicit Play(const Options& options) : options_(options), requests_(make_requests(options)) {
    for (const Request& request : requests_) answer_tokens_ += request.answer_tokens;
  }

  int run() {
    const Served many = options_.prefill ? serve_apart() : serve_colocated();
    Options alone = options_;
    alone.flip = false;
    alone.prefill = alone.decode = {};
    Processes one_process = start(kReference, {1, 1}, alone);
    const Served one = Serving(one_process, one_process, requests_, alone, stop_).run();
    one_process.finish();
    std::size_t equal = 0;
    for (const auto& [sequence, answer] : one.answers)
      equal += many.answers.at(sequence) == answer ? 1U : 0U;
    report(many, one, equal);
    if (equal == requests_.size()) return verdict({});
    return verdict(
        {std::to_string(requests_.size() - equal) + " answers differ from those of one process"});
  }

 private:
  Processes start(const std::string& name, const PipelineShape& shape, const Options& options) {
    say("serving: " + name + " " + to_string(shape) + ", " + std::to_string(shape.processes()) +
        (shape.processes() == 1 ? " process" : " processes"));
    return {name, shape, options, directory_.path()};
  }

  Served serve_colocated() {
    Processes pipeline = start(kColocated, options_.colocated, options_);
    Served served =
        Serving(pipeline, pipeline, requests_, options_, stop_).run(killing({&pipeline}));
    pipeline.finish();
    return served;
  }

  // Prefill and decode apart, with a keeper between them. Decode has other blocks.
  Served serve_apart() {
    example::ChildProcess keeper = start_keeper(options_, directory_.path());
    Options of_decode = options_;
    of_decode.flip = false;
    of_decode.cache.heads_first = !options_.cache.heads_first;
    of_decode.cache.tokens_per_block = options_.cache.tokens_per_block / 2 + 1;
    Processes prefill = start(kPrefill, *options_.prefill, options_);
    Processes decode = start(kDecode, *options_.decode, of_decode);
    Served served =
        Serving(prefill, decode, requests_, options_, stop_).run(killing({&prefill, &decode}));
    prefill.finish();
    decode.finish();
    return served;
  }

  // Kills what is due, as tokens come.
  std::function<void(std::size_t)> killing(std::vector<Processes*> pipelines) const {
    return [this, pipelines = std::move(pipelines),
            pending = kills(options_)](std::size_t tokens) mutable {
      const auto due = [&](const Kill& kill) {
        return tokens * 100 >= answer_tokens_ * kill.percent;
      };
      for (const Kill& kill : pending) {
        for (Processes* const each : pipelines) {
          if (due(kill) && each->name() == kill.pipeline) each->kill(kill.stage, kill.rank);
        }
      }
      std::erase_if(pending, due);
    };
  }

  void say(const std::string& line) const {
    if (options_.json) return;
    std::puts(line.c_str());
    (void)std::fflush(stdout);
  }

  void report(const Served& many, const Served& one, std::size_t equal) const {
    if (options_.json) {
      const nlohmann::json all{{"pipelines", pipelines()},
                               {"requests", requests_.size()},
                               {"tokens", many.tokens},
                               {"equal_answers", equal},
                               {"seconds", many.seconds},
                               {"seconds_of_one_process", one.seconds},
                               {"recoveries", many.recoveries},
                               {"recovery_seconds", many.recovery_seconds},
                               {"tokens_computed_again", many.computed_again}};
      std::puts(all.dump(2).c_str());
    }
    if (many.recoveries > 0) {
      say("recovered " + std::to_string(many.recoveries) + " times, in " +
          std::to_string(many.recovery_seconds) + " s at most, by computing " +
          std::to_string(many.computed_again) + " tokens again");
    }
    say(std::to_string(requests_.size()) + " requests, " + std::to_string(many.tokens) +
        " tokens: " + std::to_string(equal) + " answers are those of one process");
  }

  [[nodiscard]] nlohmann::json pipelines() const {
    if (!options_.prefill) return {{kColocated, to_string(options_.colocated)}};
    return {{kPrefill, to_string(*options_.prefill)}, {kDecode, to_string(*options_.decode)}};
  }

  [[nodiscard]] int verdict(const std::vector<std::string>& complaints) const {
    if (options_.json && complaints.empty()) return 0;
    return example::verdict(complaints);
  }

  const Options& options_;
  const std::vector<Request> requests_;
  std::size_t answer_tokens_ = 0;
  example::StopSignals stop_;
  example::PrivateDirectory directory_;
};

}  // namespace

int play(const Options& options) {
  return Play(options).run();
}

}  // namespace aqua::pipeline
