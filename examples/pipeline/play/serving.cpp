// SPDX-License-Identifier: Apache-2.0
#include "play/serving.hpp"

#include <algorithm>
#include <utility>

#include "must.hpp"
#include "play/recovery.hpp"

namespace aqua::pipeline {

using example::Failure;

Serving::Serving(Processes& pipeline, const std::vector<Request>& requests, const Options& options,
                 const example::StopSignals& stop)
    : pipeline_(pipeline), requests_(requests), options_(options), stop_(stop) {}

Served Serving::run(const std::function<void(std::size_t tokens)>& on_tokens) {
  const auto begin = Clock::now();
  begin_more();
  while (!running_.empty()) {
    listen();
    if (on_tokens) on_tokens(served_.tokens);
    if (pipeline_.broken()) recover();
  }
  served_.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return std::move(served_);
}

void Serving::begin_more() {
  for (; begun_ < requests_.size() && running_.size() < options_.batch; ++begun_) {
    const Request& request = requests_[begun_];
    running_[request.sequence] = &request;
    order(request, 0);
  }
}

// The tokens from this position on, whose numbers are known.
void Serving::order(const Request& request, std::uint32_t from) {
  Order order{.sequence = request.sequence, .seed = request.seed, .first = from};
  order.tokens = request.prompt;
  const auto& answer = served_.answers[request.sequence];
  order.tokens.insert(order.tokens.end(), answer.begin(), answer.end());
  order.tokens.erase(order.tokens.begin(), order.tokens.begin() + from);
  pipeline_.order(order);
}

void Serving::listen() {
  constexpr int kSilence = 120'000;  // milliseconds; on a busy machine
  std::vector<pollfd> sources{{stop_.fd(), POLLIN, 0}};
  pipeline_.watch(sources);
  const int ready = ::poll(sources.data(), sources.size(), kSilence);
  stop_.check();
  if (ready == 0) throw Failure(pipeline_.name() + " says nothing for two minutes");
  for (const Sampled& sampled : pipeline_.take()) {
    if (deliver(sampled)) {
      pipeline_.order({.sequence = sampled.sequence});
      begin_more();
    } else {
      order(*running_.at(sampled.sequence), sampled.position);
    }
  }
}

bool Serving::deliver(const Sampled& sampled) {
  const auto found = running_.find(sampled.sequence);
  if (found == running_.end())
    throw Failure("a token of sequence " + std::to_string(sampled.sequence) +
                  ", which is not running");
  const Request& request = *found->second;
  std::vector<std::uint32_t>& answer = served_.answers[sampled.sequence];
  if (sampled.position != request.prompt.size() + answer.size())
    throw Failure("sequence " + std::to_string(sampled.sequence) + " got the token of position " +
                  std::to_string(sampled.position));
  answer.push_back(sampled.token);
  ++served_.tokens;
  if (const auto noticed = std::exchange(noticed_, {})) {
    const std::chrono::duration<double> took = Clock::now() - *noticed;
    served_.recovery_seconds = std::max(served_.recovery_seconds, took.count());
  }
  if (answer.size() < request.answer_tokens) return false;
  running_.erase(found);
  return true;
}

void Serving::recover() {
  const auto noticed = Clock::now();
  std::vector<Word> sequences;
  do {
    for (const Sampled& sampled : pipeline_.replace_killed()) (void)deliver(sampled);
    sequences.clear();
    for (const auto& [sequence, request] : running_) sequences.push_back(sequence);
  } while (!pipeline_.connect(sequences));
  ++served_.recoveries;
  noticed_ = noticed;

  std::vector<Interrupted> interrupted;
  for (const auto& [sequence, request] : running_) {
    const auto delivered = static_cast<std::uint32_t>(served_.answers[sequence].size());
    interrupted.push_back(
        {sequence, static_cast<std::uint32_t>(request->prompt.size()), delivered});
  }
  const auto plan =
      plan_for(options_.model_shape(), pipeline_.shape(), pipeline_.take_lost(), interrupted);
  for (const kv_stream::Resumed& resumed : plan.sequences) {
    served_.computed_again += resumed.known - resumed.from - 1;
    order(*running_.at(resumed.sequence), resumed.from);
  }
  begin_more();
}

}  // namespace aqua::pipeline
