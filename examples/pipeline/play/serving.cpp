// SPDX-License-Identifier: Apache-2.0
#include "play/serving.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "must.hpp"
#include "play/recovery.hpp"

namespace aqua::pipeline {

using example::Failure;

Serving::Serving(Processes& prefill, Processes& decode, const std::vector<Request>& requests,
                 const Options& options, const example::StopSignals& stop)
    : prefill_(prefill), decode_(decode), requests_(requests), options_(options), stop_(stop) {}

Served Serving::run(const std::function<void(std::size_t tokens)>& on_tokens) {
  const auto begin = Clock::now();
  begin_more();
  while (!running_.empty()) {
    listen();
    if (on_tokens) on_tokens(served_.tokens);
    recover_broken();
  }
  served_.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return std::move(served_);
}

void Serving::recover_broken() {
  if (decode_.broken()) recover(decode_);
  if (apart() && prefill_.broken()) recover(prefill_);
}

void Serving::begin_more() {
  for (; begun_ < requests_.size() && running_.size() < options_.batch; ++begun_) {
    const Request& request = requests_[begun_];
    running_[request.sequence] = &request;
    give_prompt(request);
  }
}

// An answer of one token needs no KV in decode.
void Serving::give_prompt(const Request& request) {
  const bool streamed = apart() && request.answer_tokens > 1;
  prefill_.order({.sequence = request.sequence,
                  .seed = request.seed,
                  .attempt = streamed ? ++attempts_[request.sequence] : 0,
                  .tokens = request.prompt});
}

// The tokens from this position on, whose numbers are known.
void Serving::go_on(const Request& request, std::uint32_t from) {
  Order order{.sequence = request.sequence,
              .seed = request.seed,
              .first = from,
              .attempt = attempts_[request.sequence],
              .tokens = request.prompt};
  const auto& answer = served_.answers[request.sequence];
  order.tokens.insert(order.tokens.end(), answer.begin(), answer.end());
  order.tokens.erase(order.tokens.begin(), order.tokens.begin() + from);
  decode_.order(order);
}

void Serving::listen() {
  constexpr int kSilence = 120'000;  // milliseconds; on a busy machine
  std::vector<pollfd> sources{{stop_.fd(), POLLIN, 0}};
  prefill_.watch(sources);
  if (apart()) decode_.watch(sources);
  const int ready = ::poll(sources.data(), sources.size(), kSilence);
  stop_.check();
  if (ready == 0) throw Failure(decode_.name() + " says nothing for two minutes");
  std::vector<Sampled> said = prefill_.take();
  if (apart()) std::ranges::move(decode_.take(), std::back_inserter(said));
  for (const Sampled& sampled : said) {
    const auto delivered = deliver(sampled);
    if (delivered == Delivered::last) end(sampled.sequence);
    if (delivered == Delivered::more) go_on(*running_.at(sampled.sequence), sampled.position);
  }
  begin_more();
}

Serving::Delivered Serving::deliver(const Sampled& sampled) {
  const std::vector<std::uint32_t>& all = served_.answers[sampled.sequence];
  const Request& request = requests_.at(sampled.sequence);
  const std::size_t known = request.prompt.size() + all.size();
  // A prompt that is given to prefill again gives its token again: the delivered one counts.
  if (sampled.position < known && sampled.position >= request.prompt.size() &&
      all[sampled.position - request.prompt.size()] == sampled.token)
    return Delivered::again;
  const auto found = running_.find(sampled.sequence);
  if (found == running_.end() || sampled.position != known)
    throw Failure("sequence " + std::to_string(sampled.sequence) + " got token " +
                  std::to_string(sampled.token) + " at position " +
                  std::to_string(sampled.position));
  std::vector<std::uint32_t>& answer = served_.answers[sampled.sequence];
  answer.push_back(sampled.token);
  ++served_.tokens;
  if (const auto noticed = std::exchange(noticed_, {})) {
    const std::chrono::duration<double> took = Clock::now() - *noticed;
    served_.recovery_seconds = std::max(served_.recovery_seconds, took.count());
  }
  if (answer.size() < request.answer_tokens) return Delivered::more;
  running_.erase(found);
  return Delivered::last;
}

void Serving::end(Word sequence) {
  const std::uint32_t attempt = attempts_[sequence];
  if (!apart() || attempt > 0) decode_.order({.sequence = sequence, .attempt = attempt});
}

// What the pipeline had in hand goes on: prompts where it does prefill, answers that have begun
// where it does decode.
void Serving::recover(Processes& broken) {
  const auto noticed = Clock::now();
  std::vector<Word> sequences;
  std::vector<Sampled> said;
  do {
    std::ranges::move(broken.replace_killed(), std::back_inserter(said));
    sequences.clear();
    for (const auto& [sequence, request] : running_) sequences.push_back(sequence);
  } while (!broken.connect(sequences));
  ++served_.recoveries;
  noticed_ = noticed;
  const bool prompts = apart() && &broken == &prefill_;
  for (const Sampled& each : said) {
    const auto delivered = deliver(each);
    if (delivered == Delivered::last) end(each.sequence);
    if (delivered == Delivered::more && prompts) go_on(*running_.at(each.sequence), each.position);
  }

  std::vector<Interrupted> interrupted;
  for (const auto& [sequence, request] : running_) {
    const auto delivered = static_cast<std::uint32_t>(served_.answers[sequence].size());
    // The first token tells that the first rank of the last stage has streamed its part, and
    // nothing of the others: unless decode has gone on, the prompt is given again.
    if (apart() && (prompts ? delivered > 1 : delivered == 0)) continue;
    interrupted.push_back(
        {sequence, static_cast<std::uint32_t>(request->prompt.size()), delivered});
  }
  const auto plan =
      plan_for(options_.model_shape(), broken.shape(), broken.take_lost(), interrupted);
  for (const kv_stream::Resumed& resumed : plan.sequences) {
    const Request& request = *running_.at(resumed.sequence);
    served_.computed_again += resumed.known - resumed.from - 1;
    if (prompts || served_.answers[resumed.sequence].empty()) {
      give_prompt(request);
    } else {
      go_on(request, resumed.from);
    }
  }
  begin_more();
}

}  // namespace aqua::pipeline
