// SPDX-License-Identifier: Apache-2.0
// Stage is one process of a pipeline at work: it takes steps from the stage before, computes its
// layers' heads over its own KV cache, and passes them on. Of a prefill pipeline it streams the KV
// of prompts to a decode pipeline, layer by layer; there it comes in before its layer is computed.
//
// Threads: one. Errors: Failure. The runtime outlives it.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>

#include "aqua/emulated.hpp"
#include "options.hpp"
#include "serve/kv_cache.hpp"
#include "serve/named_step.hpp"
#include "serve/orders.hpp"
#include "serve/resuming.hpp"
#include "serve/step.hpp"
#include "serve/step_log.hpp"
#include "serve/wiring.hpp"
#include "stream/replicas.hpp"
#include "stream/sent_prompt.hpp"
#include "stream/streams.hpp"

namespace aqua::pipeline {

class Stage {
 public:
  Stage(Runtime& runtime, const Options& options);
  ~Stage();  // waits for its kernels
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // It leaves its term for that one: nothing more of it is replicated.
  void seal(Word term);
  // What it has of each sequence, and what a dead process has left whose place it has.
  [[nodiscard]] Surveyed survey(const Survey& survey);
  // Lets go of all other sequences, and of what these have beyond their points; reads what is to be
  // read. Of `survey` were the marks.
  void resume(const Connect& connect, const Survey& survey);
  // Takes the term's steps until there are no more; then nothing is returned. The next term ends
  // it, too, and is returned. `wiring` is connected, `orders` brings the first stage's steps.
  // NeighbourGone: somebody has died; the KV of earlier steps is all there.
  [[nodiscard]] std::optional<Rewire> run(Wiring& wiring, Orders& orders, Word term);
  [[nodiscard]] const NamedStep& named_step() const { return named_step_; }

 private:
  void restore(const Resume& resume, const Survey& survey);
  void let_go(Word sequence);
  void take(Step& step, Wiring& wiring);
  void compute(Step& step, Wiring& wiring);
  void end(const StepHead& step);
  // `behind` is called once the layer's kernel is queued.
  template <typename Behind>
  void compute_layer(unsigned layer, Step& step, BlockList blocks, Wiring& wiring, Behind behind);
  // That a layer's kernel lasts at least.
  [[nodiscard]] std::chrono::nanoseconds device_time(const StepHead& step) const;
  void flip_a_byte(const KvPlanes& planes);
  void pass_on(const Step& step, Wiring& wiring);

  Runtime& runtime_;
  const ModelShape model_;
  const Place place_;
  const Part part_;
  KvCache cache_;
  std::optional<Streams> streams_{};        // where prefill and decode are apart
  std::optional<Replicas> replicas_{};      // where they are asked for
  std::optional<StepLog> log_{};            // likewise
  std::map<Word, std::uint32_t> cached_{};  // tokens whose KV is here
  std::set<Word> streamed_{};               // sequences whose prompt was taken
  bool fresh_ = true;                       // nothing was ever computed or restored here
  NamedStep named_step_;
  unsigned steps_ = 0;
  const std::uint32_t most_tokens_;  // of a sequence
  const unsigned layer_us_;
  Stream stream_;
  bool flip_;  // a byte is still to be damaged
};

}  // namespace aqua::pipeline
