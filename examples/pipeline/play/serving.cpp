// SPDX-License-Identifier: Apache-2.0
#include "play/serving.hpp"

#include "must.hpp"

namespace aqua::pipeline {

using example::Failure;

Serving::Serving(Processes& pipeline, const std::vector<Request>& requests, unsigned batch,
                 const example::StopSignals& stop)
    : pipeline_(pipeline), requests_(requests), batch_(batch), stop_(stop) {}

Answers Serving::run(const std::function<void(std::size_t tokens)>& on_tokens) {
  begin_more();
  while (!running_.empty()) {
    listen();
    if (on_tokens) on_tokens(tokens_);
  }
  return std::move(answers_);
}

void Serving::begin_more() {
  for (; begun_ < requests_.size() && running_.size() < batch_; ++begun_) {
    const Request& request = requests_[begun_];
    running_[request.sequence] = &request;
    pipeline_.order(
        {.sequence = request.sequence, .seed = request.seed, .first = 0, .tokens = request.prompt});
  }
}

void Serving::listen() {
  constexpr int kSilence = 120'000;  // milliseconds; on a busy machine
  std::vector<pollfd> sources{{stop_.fd(), POLLIN, 0}};
  pipeline_.watch(sources);
  const int ready = ::poll(sources.data(), sources.size(), kSilence);
  stop_.check();
  if (ready == 0) throw Failure(pipeline_.name() + " says nothing for two minutes");
  for (const Sampled& sampled : pipeline_.take()) take_in(sampled);
}

void Serving::take_in(const Sampled& sampled) {
  const auto found = running_.find(sampled.sequence);
  if (found == running_.end())
    throw Failure("a token of sequence " + std::to_string(sampled.sequence) +
                  ", which is not running");
  const Request& request = *found->second;
  std::vector<std::uint32_t>& answer = answers_[sampled.sequence];
  if (sampled.position != request.prompt.size() + answer.size())
    throw Failure("sequence " + std::to_string(sampled.sequence) + " got the token of position " +
                  std::to_string(sampled.position));
  answer.push_back(sampled.token);
  ++tokens_;
  const bool ended = answer.size() == request.answer_tokens;
  Order order{.sequence = request.sequence, .seed = request.seed, .first = sampled.position};
  if (!ended) order.tokens.push_back(sampled.token);
  pipeline_.order(order);
  if (!ended) return;
  running_.erase(found);
  begin_more();
}

}  // namespace aqua::pipeline
