// SPDX-License-Identifier: Apache-2.0
#include "serve/phase.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "hash.hpp"
#include "model/llama_shape.hpp"
#include "must.hpp"
#include "serve/own_tail.hpp"

namespace aqua::prefill_decode {
namespace {

using example::Failure;
using example::must;
using namespace std::chrono_literals;

void say(const nlohmann::json& line) {
  if (!example::write_line(STDOUT_FILENO, line)) throw Failure("nobody reads the answers");
}

std::uint32_t blocks_for(std::size_t tokens) {
  return static_cast<std::uint32_t>((tokens + kTokensPerBlock - 1) / kTokensPerBlock);
}

}  // namespace

Phase::Phase(const PhaseOptions& options, KvEngine& engine, KvPool& pool, Stream stream,
             example::LineReader& input)
    : options_(options),
      engine_(engine),
      pool_(pool),
      stream_(stream),
      input_(input),
      // Memory is promised before a request begins, so that nobody is ever preempted.
      scheduler_(must(
          schedule::make_scheduler("fcfs", {.budget_tokens = options.chunk_tokens,
                                            .max_sequences = options.sequences,
                                            .block_tokens = kTokensPerBlock,
                                            .device_blocks = pool.layout().spec().block_count}),
          "scheduler")) {}

void Phase::run() {
  for (;;) {
    take_in(0ms);
    if (options_.role == Role::decode) accept();
    admit();
    if (input_.ended() && queue_.empty() && accepted_.empty() && sequences_.empty()) {
      return;
    }
    const schedule::Batch& batch = scheduler_->next();
    if (batch.moves()) {
      const auto page_ins = batch.page_ins;  // telling the scheduler ends the batch
      for (const auto& order : page_ins) must(scheduler_->paged_in(order.id), "page-in");
    } else if (batch.computes()) {
      compute(batch);
    } else {
      wait();
    }
    for (const Undelivered& parcel : pool_.undelivered()) {
      throw example::failure("the parcel of request " + parcel.parcel.id, parcel.error);
    }
  }
}

void Phase::take_in(std::chrono::milliseconds patience) {
  if (input_.ended()) return;
  for (const std::string& line : input_.read(patience)) {
    queue_.push_back(example::parse_line(line).get<Request>());
    if (queue_.back().prompt.empty() || queue_.back().answer_tokens == 0) {
      throw Failure("a request without a prompt, or for no token");
    }
  }
}

void Phase::wait() {
  // Parcels and blocks come by the pool, requests by the input; where both may come, news of the
  // pool is what an engine waits for, and it looks at the other now and then.
  const bool by_pool = options_.role == Role::decode || !queue_.empty();
  if (by_pool) {
    (void)pool_.wait(input_.ended() ? 1000ms : 50ms);
  } else {
    take_in(1000ms);
  }
}

void Phase::admit() {
  for (; !queue_.empty() && sequences_.size() < options_.sequences; queue_.pop_front()) {
    Request& request = queue_.front();
    const std::uint32_t need = blocks_for(request.prompt.size() + request.answer_tokens);
    auto blocks = pool_.allocate(need);
    if (!blocks.ok() && need <= pool_.layout().spec().block_count) return;  // some day there are
    const schedule::SequenceId id{++last_};
    Sequence sequence{.id = request.id, .tokens = std::move(request.prompt)};
    sequence.blocks = must(std::move(blocks), "request " + std::to_string(request.id));
    sequence.answer_tokens = request.answer_tokens;
    sequence.answer.answer_to = request.id;
    must(scheduler_->arrive(
             {.id = id,
              .prompt_tokens = static_cast<std::uint32_t>(sequence.tokens.size()),
              .max_new_tokens = options_.role == Role::prefill ? 1 : request.answer_tokens}),
         "arrive");
    sequences_.emplace(id, std::move(sequence));
  }
}

void Phase::accept() {
  const std::size_t at_once = sequences_.size() + accepted_.size();
  for (Parcel& parcel :
       pool_.accept(options_.sequences - std::min<std::size_t>(at_once, options_.sequences))) {
    accepted_.push_back(std::move(parcel));
  }
  for (; !accepted_.empty(); accepted_.pop_front()) {
    auto own_tail = pool_.allocate(blocks_in_doubt(accepted_.front(), kTokensPerBlock));
    if (!own_tail.ok()) return;  // some day there are
    begin(std::move(accepted_.front()), std::move(own_tail).value());
  }
}

void Phase::begin(Parcel parcel, std::vector<std::uint32_t> own_tail) {
  const auto note = nlohmann::json::parse(parcel.note).get<Pending>();
  const schedule::SequenceId id{++last_};
  Sequence sequence{.id = std::stoull(parcel.id), .tokens = {note.token}, .first = parcel.tokens};
  sequence.answer_tokens = note.answer_tokens;
  sequence.blocks = with_own_tail(pool_.layout(), parcel, own_tail);
  sequence.parcel = parcel.number;
  sequence.answer = {.answer_to = sequence.id,
                     .tokens = {note.token},
                     .logits_hash = note.logits_hash,
                     .copied_bytes = note.copied_bytes};
  sequence.answer.copied_bytes += own_tail.size() * pool_.layout().block_bytes();
  sequence.answer.copied_bytes += engine_.get(last_, sequence.blocks, parcel.tokens);
  sequence.own_tail = std::move(own_tail);
  // The pending token is the last one of the prompt: the only one that is not in the cache.
  must(scheduler_->arrive({.id = id,
                           .prompt_tokens = parcel.tokens + 1,
                           .max_new_tokens = note.answer_tokens - 1,
                           .cached_tokens = parcel.tokens}),
       "arrive");
  sequences_.emplace(id, std::move(sequence));
}

void Phase::compute(const schedule::Batch& batch) {
  std::vector<KvEngine::Part> parts;
  std::vector<schedule::SequenceId> wanting;
  const auto add = [&](schedule::SequenceId id, std::uint32_t first, std::uint32_t count,
                       bool wanted) {
    const Sequence& sequence = sequences_.at(id);
    parts.push_back({.sequence = static_cast<std::uint64_t>(id),
                     .blocks = sequence.blocks,
                     .tokens = std::span(sequence.tokens).subspan(first - sequence.first, count),
                     .first = first,
                     .wanted = wanted});
    if (wanted) wanting.push_back(id);
  };
  for (const schedule::SequenceId id : batch.decodes) {
    const Sequence& sequence = sequences_.at(id);
    add(id, static_cast<std::uint32_t>(sequence.first + sequence.tokens.size() - 1), 1, true);
  }
  for (const schedule::PrefillChunk& chunk : batch.prefills) {
    add(chunk.id, chunk.first, chunk.tokens, chunk.last);
  }
  const std::vector<Prediction> next = engine_.compute(parts);
  must(scheduler_->commit(), "commit");
  for (std::size_t i = 0; i < next.size(); ++i) predicted(wanting[i], next[i]);
}

void Phase::predicted(schedule::SequenceId id, const Prediction& next) {
  Sequence& sequence = sequences_.at(id);
  Answer& answer = sequence.answer;
  answer.logits_hash = llama_example::add_hash(answer.logits_hash, next.logits_hash);
  answer.tokens.push_back(next.token);
  if (answer.tokens.size() == 1) {
    say(FirstToken{.first_of = sequence.id, .at = steady_seconds()});
  } else {
    answer.at.push_back(steady_seconds());
  }
  sequence.tokens.push_back(next.token);
  if (answer.tokens.size() == sequence.answer_tokens) {
    say(answer);
    if (sequence.parcel != 0) {
      must(pool_.finish(sequence.parcel, stream_), "finish");
      must(pool_.release(sequence.own_tail, stream_), "release");
    } else {
      must(pool_.release(sequence.blocks, stream_), "release");
    }
  } else if (options_.role == Role::prefill) {
    hand_over(id, sequence);
  } else {
    return;
  }
  end(id);
}

void Phase::hand_over(schedule::SequenceId id, Sequence& sequence) {
  const std::size_t copied = engine_.put(static_cast<std::uint64_t>(id), sequence.blocks);
  const Pending pending{.token = sequence.tokens.back(),
                        .answer_tokens = sequence.answer_tokens,
                        .logits_hash = sequence.answer.logits_hash,
                        .copied_bytes = copied};
  must(pool_.hand_over({.id = std::to_string(sequence.id),
                        .turn = 1,
                        .blocks = std::move(sequence.blocks),
                        .tokens = static_cast<std::uint32_t>(sequence.tokens.size() - 1),
                        .note = nlohmann::json(pending).dump()},
                       "decode", stream_),
       "hand over");
}

void Phase::end(schedule::SequenceId id) {
  engine_.drop(static_cast<std::uint64_t>(id));
  must(scheduler_->finish(id), "finish");
  sequences_.erase(id);
}

}  // namespace aqua::prefill_decode
