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
    const Served many = serve(kColocated, options_.shape, kills(options_));
    const Served one = serve(kReference, {1, 1}, {});
    std::size_t equal = 0;
    for (const auto& [sequence, answer] : one.answers)
      equal += many.answers.at(sequence) == answer ? 1U : 0U;
    report(many, one, equal);
    if (equal == requests_.size()) return verdict({});
    return verdict(
        {std::to_string(requests_.size() - equal) + " answers differ from those of one process"});
  }

 private:
  Served serve(const std::string& name, const PipelineShape& shape, std::vector<Kill> kills) {
    say("serving: " + name + " " + to_string(shape) + ", " + std::to_string(shape.processes()) +
        (shape.processes() == 1 ? " process" : " processes"));
    Options options = options_;
    options.flip = options.flip && name != kReference;
    Processes pipeline(name, shape, options, directory_.path());
    const auto kill_those_due = [&](std::size_t tokens) {
      const auto due = [&](const Kill& kill) {
        return tokens * 100 >= answer_tokens_ * kill.percent;
      };
      for (const Kill& kill : kills) {
        if (due(kill)) pipeline.kill(kill.stage, kill.rank);
      }
      std::erase_if(kills, due);
    };
    Served served = Serving(pipeline, requests_, options_, stop_).run(kill_those_due);
    pipeline.finish();
    return served;
  }

  void say(const std::string& line) const {
    if (options_.json) return;
    std::puts(line.c_str());
    (void)std::fflush(stdout);
  }

  void report(const Served& many, const Served& one, std::size_t equal) const {
    if (options_.json) {
      const nlohmann::json all{{"pipeline", to_string(options_.shape)},
                               {"processes", options_.shape.processes()},
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
