// SPDX-License-Identifier: Apache-2.0
// Serving sends requests through a pipeline, a batch at the same time, and collects the answers.
//
// Threads: one. Errors: Failure.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "play/processes.hpp"
#include "play/workload.hpp"
#include "workplace.hpp"

namespace aqua::pipeline {

// Tokens by sequence.
using Answers = std::map<Word, std::vector<std::uint32_t>>;

class Serving {
 public:
  Serving(Processes& pipeline, const std::vector<Request>& requests, unsigned batch,
          const example::StopSignals& stop);

  // Returns once all are answered. `on_tokens` is told how many tokens are there, of all answers.
  [[nodiscard]] Answers run(const std::function<void(std::size_t tokens)>& on_tokens = {});

 private:
  void begin_more();
  void listen();
  void take_in(const Sampled& sampled);

  Processes& pipeline_;
  const std::vector<Request>& requests_;
  const unsigned batch_;
  const example::StopSignals& stop_;
  std::map<Word, const Request*> running_{};
  Answers answers_{};
  std::size_t begun_ = 0;
  std::size_t tokens_ = 0;
};

}  // namespace aqua::pipeline
