// SPDX-License-Identifier: Apache-2.0
// Streams are what a process of a prefill pipeline sends, and one of a decode pipeline receives, by
// the library's Streamer: each rank of decode gets its layers and heads of each prompt from those
// ranks of prefill that have them.
//
// They outlive the keeper. When it dies each process attaches to the next one, once that listens,
// and decode has room there as at the beginning. A prompt that prefill has in hand is streamed
// again as the same attempt (SentPrompt). Prompts that were with the keeper are gone: the
// orchestrator, which hears of the death, gives each anew that decode has not gone on with, as
// another attempt. So a prompt comes to each rank of decode once it was given after the last death.
//
// While one process waits for a stream, those who wait for it have to make room all the same: each
// calls hear() again and again, whatever it waits for.
//
// Threads: one. Errors: Failure. The cache outlives it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "options.hpp"
#include "serve/kv_cache.hpp"
#include "serve/step.hpp"
#include "stream/attachment.hpp"

namespace aqua::pipeline {

// A prompt that comes into blocks of this process.
struct TakenPrompt {
  std::shared_ptr<Attachment> from{};  // outlives what it carries
  kv_stream::StreamIn in;
};

class Streams {
 public:
  static constexpr std::chrono::milliseconds kOneWait{20};  // then it looks for the other thing

  // Waits for a keeper.
  Streams(Runtime& runtime, const Options& options, const KvCache& cache);

  // What waits ends with NeighbourGone once this is so.
  void give_up_if(std::function<bool()> told) { told_ = std::move(told); }
  // Waits until it has happened, which is asked again and again.
  void await(const char* what, const std::function<bool()>& happened);
  // To the keeper that listens; waits for one.
  [[nodiscard]] std::shared_ptr<Attachment> attached();
  // Attaches anew where the keeper has died and the next one listens, and hears what has come. What
  // comes of sequences that have ended is let go: it has room that prefill may wait for. Waits for
  // nothing.
  void hear();

  // --- of decode --------------------------------------------------------------------------
  // Waits until the sequence has arrived, and lets it come into these blocks.
  [[nodiscard]] TakenPrompt take(const StepHead& step, BlockList blocks, Stream stream);
  // The sequence has ended, whether it was taken or not: there is room for another one. Its latest
  // attempt may come later, or never, where prefill was killed again: nothing waits for it.
  void finish(const StepHead& step, Stream stream);
  // All others below `begun` have ended: what has arrived of them, or comes later, is let go.
  void keep(const std::vector<Word>& sequences, Word begun, Stream stream);

 private:
  // Whether it is attached to a keeper that lives, as far as is known; tries to be.
  bool look();
  [[nodiscard]] bool wanted(Word sequence) const;
  void let_go(Word sequence, Stream stream);

  Runtime& runtime_;
  const Options options_;
  const KvCache& cache_;
  std::shared_ptr<Attachment> attached_{};
  std::function<bool()> told_{};
  // For prompts, at the next keeper: for a batch. At a later one a process of prefill may also
  // stream one again that it has in hand, and whose sequence has been taken before, and has ended.
  unsigned room_;
  std::map<Word, std::uint32_t> arrived_{};  // attempts, by sequence, at this keeper
  // What keep() was told last, and sequences that have ended since, of which more may come.
  std::set<Word> kept_{}, ended_{};
  Word begun_ = 0;
};

}  // namespace aqua::pipeline
