// SPDX-License-Identifier: Apache-2.0
// Replicas are the copies that a process keeps of its KV with the keeper, by the library's
// Replicator, and what it finds there of a dead process whose place it has, by a ReplicaReader.
// Without a keeper it goes on without replicas. When there is one again, what that one lacks is
// copied behind the next steps.
//
// Threads: one. Errors: Failure. Runtime and cache outlive it.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "aqua/kv_stream/replica_reader.hpp"
#include "aqua/kv_stream/replicator.hpp"
#include "must.hpp"
#include "options.hpp"
#include "serve/kv_cache.hpp"
#include "serve/resuming.hpp"
#include "serve/step.hpp"

namespace aqua::pipeline {

class Replicas {
 public:
  Replicas(Runtime& runtime, const Options& options, const KvCache& cache);

  // The step's kernels are queued on `stream`.
  void step(const Step& step, BlockList blocks, Stream stream);
  void finish(Word sequence);
  // Between the end of one term and the beginning of the next nothing is committed.
  void seal();
  void resume(Word term);

  // By sequence of the survey: how much of it the dead one has left.
  [[nodiscard]] std::vector<std::uint32_t> survey(const Survey& survey, std::uint32_t room);
  // Reads KV of the first tokens of a sequence into blocks that have `room` tokens; waits for it.
  // `posted` is called before that.
  template <typename Posted>
  void restore(const KnownSequence& known, std::uint32_t tokens, BlockList blocks, Stream stream,
               Posted posted);
  // What was not restored is dropped.
  void end_restoring(Stream stream);
  // What was measured of copies of many tokens, since the last call: all that were restored, and
  // one prompt in eight, which is waited for. Bytes that were really moved: with a prompt what was
  // missing before, and nothing of one that could not be copied.
  [[nodiscard]] MeasuredCopies take_measured() { return std::exchange(measured_, {}); }

 private:
  using Clock = std::chrono::steady_clock;
  // Whether there is a replicator, which is told of each step whether or not it has a keeper now.
  bool attach();
  // Counts what the ticket, which is done, has moved.
  void measured(const Ticket& copy, Clock::time_point since);

  const KvCache& cache_;
  kv_stream::ReplicatorOptions options_;  // whose term is the present one
  Runtime& runtime_;
  std::optional<kv_stream::Replicator> replicator_{};
  std::optional<kv_stream::ReplicaReader> reader_{};
  std::map<Word, std::vector<std::uint32_t>> ids_{};  // of all tokens that have KV, by sequence
  std::set<Word> known_{};                            // to the replicator
  bool sealed_ = false;
  Clock::time_point next_attempt_{};  // to find a keeper; no earlier
  MeasuredCopies measured_{};
  unsigned prompts_ = 0;  // that were to be copied
};

template <typename Posted>
void Replicas::restore(const KnownSequence& known, std::uint32_t tokens, BlockList blocks,
                       Stream stream, Posted posted) {
  if (!reader_) throw example::Failure("there are no replicas to restore from");
  const auto since = Clock::now();
  auto restored = example::must(
      reader_->restore(known.sequence, known.ids, tokens, cache_.layout(), blocks, stream),
      "restore");
  posted();
  example::must(restored.ticket.wait(), "restore");
  measured(restored.ticket, since);
  const auto ids = std::span(known.ids).first(tokens);
  ids_[known.sequence].assign(ids.begin(), ids.end());
  if (!replicator_) return;
  example::must(replicator_->adopt({.sequence = known.sequence,
                                    .blocks = blocks,
                                    .ids = ids,
                                    .pieces = std::move(restored.pieces)}),
                "adopt");
  known_.insert(known.sequence);
}

}  // namespace aqua::pipeline
