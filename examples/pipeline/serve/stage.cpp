// SPDX-License-Identifier: Apache-2.0
#include "serve/stage.hpp"

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "json_lines.hpp"
#include "must.hpp"

namespace aqua::pipeline {
namespace {

using example::must;

KvPlanes kernel_view(KvPlanes planes) {
  planes.keys = emulated::kernel_view(planes.keys);
  planes.values = emulated::kernel_view(planes.values);
  return planes;
}

}  // namespace

Stage::Stage(Runtime& runtime, const Options& options)
    : runtime_(runtime),
      model_(options.model_shape()),
      place_(options.place),
      part_(part_of(model_, place_.shape, place_.stage, place_.rank)),
      cache_(runtime, model_, part_, options.cache_options()),
      named_step_(at_steps(options), options.directory, options.place.name()),
      most_tokens_(options.most_tokens()),
      layer_us_(options.layer_us),
      stream_(must(emulated::create_stream(runtime), "stream")),
      flip_(options.flip) {
  if (options.prefill) streams_.emplace(runtime, options, cache_);
  // Prompts that prefill has not streamed to their end are computed again.
  if (options.replicate && place_.pipeline != kPrefill) replicas_.emplace(runtime, options, cache_);
  if (options.log_steps) log_.emplace(options.directory, place_.stage);
}

Stage::~Stage() {
  (void)emulated::destroy_stream(runtime_, stream_);
}

void Stage::seal(Word term) {
  named_step_.in_term(term);
  if (replicas_) replicas_->seal();
}

Surveyed Stage::survey(const Survey& survey) {
  std::vector<std::uint32_t> left(survey.sequences.size());
  if (replicas_ && fresh_) left = replicas_->survey(survey, most_tokens_);
  Surveyed surveyed{.surveyed = survey.term};
  for (std::size_t i = 0; i < left.size(); ++i) {
    const Word sequence = survey.sequences[i].sequence;
    const auto cached = cached_.find(sequence);
    surveyed.marks.push_back(
        {.cached = cached == cached_.end() ? 0 : cached->second,
         .replica = left[i],
         .untouched = cached == cached_.end() && !streamed_.contains(sequence)});
  }
  if (replicas_) surveyed.copies = replicas_->take_measured();
  return surveyed;
}

void Stage::resume(const Connect& connect, const Survey& survey) {
  std::vector<Word> sequences;
  for (const Resume& each : connect.sequences) sequences.push_back(each.sequence);
  if (streams_) streams_->keep(sequences, connect.begun, stream_);
  for (const Word each : cache_.sequences()) {
    if (std::ranges::find(sequences, each) == sequences.end()) let_go(each);
  }
  for (const Resume& each : connect.sequences) {
    const auto cached = cached_.find(each.sequence);
    const bool reads = std::ranges::find(each.reads, place_.stage) != each.reads.end();
    if (each.from == 0) {
      let_go(each.sequence);
    } else if (cached != cached_.end() && cached->second >= each.from) {
      cached->second = each.from;  // of a stage that reads, another rank has died
    } else if (reads) {
      restore(each, survey);
    } else {
      let_go(each.sequence);  // its prompt comes, or comes once more: nothing of it is here then
    }
  }
  named_step_.reached("restored");
  if (replicas_) {
    replicas_->end_restoring(stream_);
    replicas_->resume(connect.term);
  }
  fresh_ = fresh_ && cached_.empty();
  named_step_.reached("resumed");
}

void Stage::restore(const Resume& resume, const Survey& survey) {
  const auto known = std::ranges::find(survey.sequences, resume.sequence, &KnownSequence::sequence);
  if (!replicas_ || known == survey.sequences.end())
    throw example::Failure("told to restore what is not known here");
  let_go(resume.sequence);
  cache_.reserve(resume.sequence, most_tokens_);
  replicas_->restore(*known, resume.from, cache_.blocks_of(resume.sequence), stream_,
                     [this] { named_step_.reached("restoring"); });
  cached_[resume.sequence] = resume.from;
}

void Stage::let_go(Word sequence) {
  if (replicas_) replicas_->finish(sequence);
  cache_.release(sequence);
  cached_.erase(sequence);
}

std::optional<Rewire> Stage::run(Wiring& wiring, Orders& orders, Word term) {
  if (streams_) streams_->give_up_if([&orders] { return orders.rewire_comes(); });
  if (streams_ || wiring.is_of_hosts()) {
    wiring.while_waiting([this, &orders, of_hosts = wiring.is_of_hosts()] {
      if (of_hosts && orders.rewire_comes()) throw NeighbourGone("the term is over");
      if (streams_) streams_->hear();
    });
  }
  if (!place_.first()) {
    while (std::optional<Step> step = receive_step(wiring.before())) take(*step, wiring);
  } else {
    for (;;) {
      while (streams_ && !orders.comes(Streams::kOneWait)) streams_->hear();
      const auto order = orders.next_of(term);
      if (!order) break;
      if (order->contains("listen")) return order->get<Rewire>();
      Step step = step_of(order->get<Order>());
      take(step, wiring);
    }
  }
  if (!place_.last()) send_end(wiring.behind());
  return {};
}

void Stage::take(Step& step, Wiring& wiring) {
  const auto begin = StepClock::now();
  if (step.head.count > 0) {
    compute(step, wiring);
  } else {
    end(step.head);
  }
  pass_on(step, wiring);
  if (log_ && step.head.count > 0) log_->add(step.head, begin);
}

void Stage::end(const StepHead& step) {
  if (streams_) streams_->finish(step, stream_);
  let_go(step.sequence);  // no kernel is queued, nor a copy out: compute() waits for both
  streamed_.erase(step.sequence);
}

void Stage::compute(Step& step, Wiring& wiring) {
  const Word sequence = step.head.sequence;
  // The prompt's KV is not here yet, nor is it computed here: then `first` would be 0.
  const bool streamed = step.head.first > 0 && cache_.blocks_of(sequence).empty();
  cache_.reserve(sequence, step.head.end());
  const std::vector<std::uint32_t> blocks = cache_.blocks_of(sequence);
  const bool prefill = streams_ && place_.pipeline == kPrefill;
  const bool streams_out = prefill && step.head.attempt > 0;
  std::optional<SentPrompt> out;
  std::optional<TakenPrompt> taken;
  if (streams_out) out.emplace(*streams_, step.head, blocks);
  if (streams_ && streamed) {
    named_step_.reached("taking");
    taken.emplace(streams_->take(step.head, blocks, stream_));
  }
  for (unsigned i = 0; i < part_.layers.count; ++i) {
    if (taken) must(taken->in.stream_wait(stream_, i), "stream_wait");
    compute_layer(part_.layers.first + i, step, blocks, wiring, [&] {
      if (out) out->layer(i, stream_);
    });
    if (out) named_step_.reached("streaming");
  }
  if (taken) {
    must(taken->in.wait(), "stream_in");
    streamed_.insert(sequence);
    named_step_.reached("taken");
  }
  if (out) {
    out->complete(stream_);
    named_step_.reached("streamed");
  }
  fresh_ = false;
  if (replicas_) replicas_->step(step, blocks, stream_);
  if (prefill) {
    cache_.release(sequence);
  } else {
    cached_[sequence] = step.head.end();
  }
  constexpr unsigned kSteps = 20;
  if (++steps_ == kSteps) named_step_.reached("stepped");
}

// The sum over the ranks is made on the host, so that each layer is waited for. An engine adds up
// on its devices, and waits once a step.
template <typename Behind>
void Stage::compute_layer(unsigned layer, Step& step, BlockList blocks, Wiring& wiring,
                          Behind behind) {
  std::vector<Hidden> sums(step.head.count);
  auto kernel = [&, planes = cache_.planes(layer, blocks)] {
    const auto least = std::chrono::steady_clock::now() + device_time(step.head);
    const KvPlanes kv = kernel_view(planes);
    for (std::uint32_t i = 0; i < step.head.count; ++i) {
      write_kv(model_, part_, layer, kv, step.head.first + i, step.hidden[i]);
      sums[i] = attend(model_, part_, layer, kv, step.head.first + i, step.hidden[i]);
    }
    if (layer_us_ > 0) std::this_thread::sleep_until(least);
  };
  must(emulated::launch(runtime_, stream_, std::move(kernel)), "launch");
  if (flip_) flip_a_byte(cache_.planes(layer, blocks));
  behind();
  must(emulated::synchronize(runtime_, stream_), "kernel");
  wiring.add_up(sums);
  for (std::uint32_t i = 0; i < step.head.count; ++i)
    step.hidden[i] = finish_layer(layer, step.hidden[i], sums[i]);
}

std::chrono::nanoseconds Stage::device_time(const StepHead& step) const {
  const double tokens = step.count, pairs = tokens * step.first + tokens * (tokens + 1) / 2;
  const double us = layer_us_ * (1 + tokens / 16 + pairs / 256);
  return std::chrono::nanoseconds(static_cast<std::int64_t>(us * 1000));
}

void Stage::flip_a_byte(const KvPlanes& planes) {
  flip_ = false;
  auto kernel = [planes] { kernel_view(planes).keys[planes.offset(0, 0)] ^= std::byte{1}; };
  must(emulated::launch(runtime_, stream_, std::move(kernel)), "launch");
}

void Stage::pass_on(const Step& step, Wiring& wiring) {
  if (!place_.last()) return send_step(wiring.behind(), step);
  if (place_.rank != 0 || step.head.count == 0) return;
  const std::uint32_t token = sample(step.hidden.back(), step.head.seed, step.head.end() - 1);
  const Sampled sampled{step.head.sequence, step.head.end(), token};
  if (!example::write_line(STDOUT_FILENO, sampled))
    throw example::Failure("the orchestrator hears no more");
}

}  // namespace aqua::pipeline
