// SPDX-License-Identifier: Apache-2.0
#include "play/serving.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "must.hpp"

namespace aqua::pipeline {

using example::Failure;

Serving::Serving(Processes& prefill, Processes& decode, std::function<unsigned()> losses,
                 const std::vector<Request>& requests, const Options& options,
                 const example::StopSignals& stop)
    : prefill_(prefill),
      decode_(decode),
      losses_(std::move(losses)),
      requests_(requests),
      options_(options),
      stop_(stop),
      losses_heard_(losses_ ? losses_() : 0) {}

Served Serving::run(const std::function<void(std::size_t tokens)>& on_tokens) {
  served_.began = Clock::now();
  begin_more();
  while (!running_.empty()) {
    listen();
    if (on_tokens) on_tokens(served_.tokens);
    recover_broken();
    give_lost_prompts();
  }
  served_.seconds = std::chrono::duration<double>(Clock::now() - served_.began).count();
  served_.deaths = decode_.deaths() + (apart() ? prefill_.deaths() : 0);
  served_.silent = decode_.silent() + (apart() ? prefill_.silent() : 0);
  return std::move(served_);
}

void Serving::recover_broken() {
  if (decode_.broken()) recover(decode_);
  if (apart() && prefill_.broken()) recover(prefill_);
}

// What decode had not taken has gone with the keeper, or the host. Nobody knows what that was, but
// that all of decode has the prompt of an answer that goes on. A prompt that prefill has in hand
// comes all the same, and then once more.
void Serving::give_lost_prompts() {
  if (!losses_ || !apart() || losses_heard_ == losses_()) return;
  losses_heard_ = losses_();
  together_.clear();  // the first token of a prompt that is under way now waits for this
  for (const auto& [sequence, request] : running_) {
    if (request->answer_tokens == 1 || served_.answers[sequence].size() > 1) continue;
    give_prompt(*request);
    ++served_.prompts_again;
  }
}

void Serving::begin_more() {
  for (; begun_ < requests_.size() && running_.size() < options_.batch; ++begun_) {
    const Request& request = requests_[begun_];
    running_[request.sequence] = &request;
    since_[request.sequence] = Clock::now();
    std::size_t& together = together_[request.sequence] = 0;
    for (const auto& [sequence, other] : running_) {
      if (served_.answers[sequence].empty()) together += other->prompt.size();
    }
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
  // The pipeline does not know yet the ids of a sequence that was streamed.
  const auto behind = order.tokens.begin() + from;
  if (apart()) order.before.assign(order.tokens.begin(), behind);
  order.tokens.erase(order.tokens.begin(), behind);
  decode_.order(order);
}

void Serving::listen() {
  constexpr std::chrono::minutes kSilence{2};  // on a busy machine
  std::vector<pollfd> sources{{stop_.fd(), POLLIN, 0}};
  prefill_.watch(sources);
  if (apart()) decode_.watch(sources);
  (void)::poll(sources.data(), sources.size(), static_cast<int>(options_.one_wait().count()));
  stop_.check();
  std::vector<Sampled> said = prefill_.take();
  if (apart()) std::ranges::move(decode_.take(), std::back_inserter(said));
  // Tokens and recoveries count: deaths of who has no rank, and of the coordinator, may go on while
  // nothing is served.
  if (!said.empty()) last_news_ = Clock::now();
  if (Clock::now() - last_news_ > kSilence)
    throw Failure(decode_.name() + " says nothing for two minutes");
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
    if (!served_.interruptions.empty()) served_.interruptions.back().next_token = Clock::now();
  }
  const auto together = together_.find(sampled.sequence);
  if (answer.size() == 1 && together != together_.end()) {
    // A prompt that had company took as long as all of it, which is what recovery will have, too.
    const std::chrono::duration<double> took = Clock::now() - since_.at(sampled.sequence);
    costs_.computed(together->second, took.count());
  }
  if (answer.size() < request.answer_tokens) return Delivered::more;
  const std::chrono::duration<double> took = Clock::now() - since_.at(sampled.sequence);
  served_.latencies[sampled.sequence] = took.count();
  running_.erase(found);
  return Delivered::last;
}

void Serving::end(Word sequence) {
  const std::uint32_t attempt = attempts_[sequence];
  if (!apart() || attempt > 0) decode_.order({.sequence = sequence, .attempt = attempt});
}

std::vector<Interrupted> Serving::interrupted_in(const Processes& broken) const {
  const bool prompts = apart() && &broken == &prefill_;
  std::vector<Interrupted> all;
  for (const auto& [sequence, request] : running_) {
    const auto answer = served_.answers.find(sequence);
    const auto delivered =
        static_cast<std::uint32_t>(answer == served_.answers.end() ? 0 : answer->second.size());
    // The first token tells that the first rank of the last stage has streamed its part, and
    // nothing of the others: unless decode has gone on, the prompt is given again.
    if (apart() && (prompts ? delivered > 1 : delivered == 0)) continue;
    all.push_back({.sequence = sequence,
                   .prompt = static_cast<std::uint32_t>(request->prompt.size()),
                   .delivered = delivered,
                   .streamed = apart()});
  }
  return all;
}

std::vector<KnownSequence> Serving::known_of(const std::vector<Interrupted>& all) const {
  std::vector<KnownSequence> known;
  for (const Interrupted& each : all) {
    KnownSequence sequence{each.sequence, running_.at(each.sequence)->prompt};
    const auto answer = served_.answers.find(each.sequence);
    if (answer != served_.answers.end())
      sequence.ids.insert(sequence.ids.end(), answer->second.begin(), answer->second.end());
    known.push_back(std::move(sequence));
  }
  return known;
}

std::vector<Word> Serving::start_over(bool prompts_too) {
  std::vector<Word> all;
  for (const auto& [sequence, request] : running_) {
    std::vector<std::uint32_t>& answer = served_.answers[sequence];
    if (answer.empty() && !prompts_too) continue;
    all.push_back(sequence);
    served_.tokens -= answer.size();
    served_.computed_again += answer.size();
    answer.clear();
  }
  return all;
}

// What the pipeline had in hand goes on: prompts where it does prefill, answers that have begun
// where it does decode. Requests that are not interrupted here keep their places in it.
void Serving::recover(Processes& broken) {
  const auto noticed = Clock::now();
  const bool prompts = apart() && &broken == &prefill_;
  const bool scratch = options_.recover == Recover::scratch;
  std::vector<Sampled> said;
  std::vector<Word> again;
  kv_stream::RecoveryPlan plan;
  Reckoning reckoning;
  Interruption interruption{.pipeline = broken.name()};
  together_.clear();  // the first token of a prompt that is under way now waits for this
  for (bool connected = false; !connected;) {
    for (const Sampled& each : broken.next_term()) {
      const auto delivered = deliver(each);
      const bool goes_on = delivered == Delivered::more && prompts;
      if (delivered == Delivered::last || goes_on) said.push_back(each);
    }
    for (const Interrupted& each : interrupted_in(broken))
      served_.interrupted.insert(each.sequence);
    if (scratch) std::ranges::move(start_over(prompts || !apart()), std::back_inserter(again));
    const auto interrupted = scratch ? std::vector<Interrupted>{} : interrupted_in(broken);
    MeasuredCopies copies;
    const auto marks = broken.survey(known_of(interrupted), copies);
    costs_.copied(copies.bytes, copies.seconds);
    if (!marks) continue;
    interruption.surveyed = Clock::now();
    const auto rates = costs_of(options_.recover, costs_);
    plan =
        plan_for(options_.model_shape(), broken.shape(), broken.lost(), interrupted, *marks, rates);
    reckoning = reckoning_of(plan, rates, costs_);
    const auto lost = std::ranges::find(broken.lost(), true);
    interruption.stage = static_cast<unsigned>(lost - broken.lost().begin());
    auto resumes = resumes_of(plan);
    for (const auto& [sequence, request] : running_) {
      const bool named = std::ranges::find(resumes, sequence, &Resume::sequence) != resumes.end();
      if (!named) resumes.push_back({.sequence = sequence});
    }
    // The order that ends them is still to come.
    for (const Sampled& each : said) {
      if (!running_.contains(each.sequence)) resumes.push_back({.sequence = each.sequence});
    }
    connected = broken.connect(resumes, begun_);
  }
  ++served_.recoveries;
  if (!scratch) served_.reckonings.push_back(reckoning);
  last_news_ = Clock::now();
  noticed_ = noticed;
  const Processes::Times times = broken.take_times();
  interruption.died = times.died;
  interruption.noticed = times.noticed;
  interruption.restored = times.connected.value_or(interruption.surveyed);
  interruption.resumed = Clock::now();
  served_.interruptions.push_back(interruption);
  for (const Sampled& each : said) {
    if (!running_.contains(each.sequence)) {
      end(each.sequence);
    } else if (!scratch) {
      go_on(*running_.at(each.sequence), each.position);
    }
  }
  std::ranges::sort(again);
  again.erase(std::unique(again.begin(), again.end()), again.end());
  for (const Word each : again) give_prompt(*running_.at(each));
  go_on_by(plan, prompts);
  begin_more();
  together_.clear();  // of these likewise: what is computed again is under way beside them
}

void Serving::go_on_by(const kv_stream::RecoveryPlan& plan, bool prompts) {
  for (const kv_stream::Resumed& resumed : plan.sequences) {
    const Request& request = *running_.at(resumed.sequence);
    served_.computed_again += resumed.known - resumed.from - 1;
    for (const kv_stream::Replica& read : resumed.reads) served_.restored += read.tokens;
    if (prompts || (apart() && served_.answers[resumed.sequence].empty())) {
      give_prompt(request);
    } else {
      go_on(request, resumed.from);
    }
  }
}

}  // namespace aqua::pipeline
