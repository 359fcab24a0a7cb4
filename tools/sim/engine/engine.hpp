// SPDX-License-Identifier: Apache-2.0
// One serving engine in virtual time: it is sent requests, the real scheduler (aqua/schedule)
// decides every iteration, the cost model says how long it computes, the network how long pages
// travel.
//
// Copies overlap with computing: the scheduler goes on with who is resident; what travels joins at
// the next iteration boundary after it has arrived. Iterations follow each other without a gap
// (no host overhead is modelled). Memory traffic of copies lengthens iterations: each byte takes
// its turn on this GPU's HBM.
//
// Tensor-parallel GPUs are alike; one of them is simulated, with its share of bytes.
// Skipping: where the scheduler says that the next iterations are the same, and nothing else
// happens before they end, they are computed in one step; every figure is the same as without.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "aqua/schedule/scheduler.hpp"
#include "tools/sim/cost/cost_model.hpp"
#include "tools/sim/engine/actor.hpp"
#include "tools/sim/engine/outcome.hpp"
#include "tools/sim/engine/paging.hpp"
#include "tools/sim/engine/prefix_store.hpp"
#include "tools/sim/engine/request_table.hpp"
#include "tools/sim/engine/swap_space.hpp"
#include "tools/sim/input/workload.hpp"
#include "tools/sim/share/gpu_share.hpp"

namespace aqua::sim {

class SwappedLayers;    // tools/sim/layers/swapped_layers.hpp
struct LayerIteration;  // likewise

struct EngineOptions {
  Paging paging{};
  double kv_bytes_per_token = 0;  // one GPU's share
  std::uint32_t block_tokens = 16;
  // Links over which others reach this GPU's memory: their traffic lengthens iterations.
  std::vector<LinkId> visitors{};
  bool skip = true;
  // The scheduler is told this as the limit of an answer, or what the device has left beside the
  // prompt, but never less than the answer's length. 0: it is told the length.
  std::uint32_t answer_limit = 0;
  // What swaps layers; may be null, and outlives the engine. Not beside prefixes.
  SwappedLayers* layers = nullptr;
  // Where others compute on the GPU, too; may be null, and outlives the engine.
  GpuShare* gpu = nullptr;
  // Told of each request that is over: finished, or refused (then the table has no finish).
  std::function<void(std::uint32_t, Picos)> ended{};
  // Told of a request that was to be sent away and is gone: nothing here counts it any more.
  std::function<void(std::uint32_t, Picos)> left{};
  // Asked before iterations are skipped over: is all that may concern the engine before the horizon
  // known to it? With it, iterations that are computed in one step end before the horizon, so that
  // whoever acts then finds every token that is there.
  std::function<bool()> may_skip{};
  // Told of each token, a request's index and when it came, in time order. Wants `skip` false.
  std::function<void(std::uint32_t, Picos)> token{};
  Picos sample_interval = kPicosPerSecond;
};

class Engine final : public Actor {
 public:
  // All must outlive it. `prefixes` may be null.
  Engine(RequestTable& table, const CostModel& cost, schedule::Scheduler& scheduler,
         SwapSpace& swap, Network& network, PrefixStore* prefixes, const EngineOptions& options);

  // The request comes to this engine, with what the table says of it: it may have been served
  // elsewhere until now.
  void submit(std::uint32_t request);
  // One whose KV is delivered: `blocks`, reserved for it, are free when the scheduler may take it
  // in.
  void submit_delivered(std::uint32_t request, std::uint32_t blocks);
  // No more will come.
  void close();
  // The request leaves between two iterations, at once if none is under way, but not while a copy
  // of it is: then `left` of the options is told. KV that is swapped out by then is dropped. One
  // that ends before does not leave.
  void send_away(std::uint32_t request);

  [[nodiscard]] Picos next() const override;
  void act(Picos now, Picos horizon) override;
  void flow_ended(FlowId flow, Picos now) override;
  [[nodiscard]] bool done() const override { return closed_ && inbox_.empty() && open_ == 0; }
  [[nodiscard]] bool steers() const override { return false; }
  [[nodiscard]] std::size_t ended() const noexcept { return ended_; }

  // The market changed (slabs revoked, offered): sequences move between tiers, revoked slabs that
  // nobody needs go back.
  void rebalance(Picos now);
  [[nodiscard]] schedule::Scheduler& scheduler() noexcept { return scheduler_; }
  [[nodiscard]] std::size_t arrived() const noexcept { return arrived_; }
  [[nodiscard]] double kv_bytes_used() const;
  // The same, and what is swapped out or waits for its first token.
  [[nodiscard]] double kv_bytes_wanted() const;
  void set_device_blocks(std::uint32_t blocks);
  // Keeps blocks for requests that are on their way here, so that its own do not grow into them;
  // false, and nothing changed: it has not so many free.
  [[nodiscard]] bool reserve(std::uint32_t blocks);
  void unreserve(std::uint32_t blocks);

  // Once done, of an engine that had the table for itself.
  [[nodiscard]] RunOutcome outcome() &&;
  [[nodiscard]] const Totals& totals() const noexcept { return totals_; }

 private:
  enum class CopyPurpose : std::uint8_t { out, in, evacuate, promote, store };
  struct Copy {
    FlowId flow = 0;
    std::uint32_t request = 0;
    CopyPurpose purpose{};
    Tier tier = Tier::host;
  };

  // engine.cpp
  void take_inbox(Picos now);
  void take(std::uint32_t request, Picos now);
  [[nodiscard]] bool accepts(const schedule::Request& asked);
  [[nodiscard]] std::uint32_t limit_of(const TraceRequest& request) const;
  void begin(Picos now, Picos horizon);
  void emit(std::uint32_t request, std::uint32_t tokens, Picos first_at, Picos now, Picos longest);
  void finish(std::uint32_t request, Picos now);
  void over(std::uint32_t request, Picos now);
  void let_go(Picos now);
  // engine_iteration.cpp
  void compute(const schedule::Batch& batch, Picos now, Picos horizon);
  void end_iteration(Picos now);
  void start_prompts();
  [[nodiscard]] LayerIteration layer_iteration(Picos length, std::uint32_t repetition) const;
  [[nodiscard]] double memory_traffic(Picos now) const;
  [[nodiscard]] Picos memory_stretch(Picos now);
  // engine_report.cpp
  void sample(Picos now);
  // engine_paging.cpp
  void page(const schedule::Batch& batch, Picos now);
  void page_out(const schedule::Preemption& order, Picos now);
  void page_in(const schedule::PageIn& order, Picos now);
  void copied(const Copy& copy, Picos now);
  void store_prefix(std::uint32_t request, Picos now);
  void tell_finished_copies(Picos now);  // and the time, at which they are over
  void start_move(std::uint32_t request, Tier to, Picos now);
  [[nodiscard]] bool at_once(const schedule::Batch& batch) const;
  [[nodiscard]] FlowId start_copy(std::uint32_t request, CopyPurpose purpose, Tier tier,
                                  double bytes, Picos now);

  RequestTable& table_;
  const Workload& workload_;
  const CostModel& cost_;
  schedule::Scheduler& scheduler_;
  SwapSpace& swap_;
  Network& network_;
  PrefixStore* prefixes_;
  EngineOptions options_;

  std::vector<RequestTable::Progress>& sequences_;
  std::vector<RequestOutcome>& requests_;
  std::vector<Copy> copies_;            // under way
  std::vector<Copy> arrived_copies_;    // over, the scheduler is told at the next boundary
  std::vector<std::uint32_t> inbox_;    // came, the scheduler does not know them yet
  std::vector<std::uint32_t> leaving_;  // at the next boundary
  bool closed_ = false;
  std::size_t arrived_ = 0;
  std::size_t ended_ = 0;
  std::size_t open_ = 0;                // with the scheduler
  std::uint32_t reserved_ = 0;          // blocks that the scheduler is not told of …
  std::uint32_t delivered_ = 0;         // … of them for requests that are here
  std::uint64_t unstarted_tokens_ = 0;  // of prompts of which nothing was computed
  bool changed_ = true;                 // since the scheduler said that there is nothing to do

  // The iterations being computed.
  bool computing_ = false;
  std::uint32_t repeat_ = 0;
  Picos first_end_ = 0, end_ = kNever, longest_ = 0;
  Picos stopped_ = 0;          // by copies, before the next one may begin
  Picos stretched_ = 0;        // already added to end_
  double traffic_before_ = 0;  // on HBM when the last one began
  std::vector<schedule::PrefillChunk> prefills_;
  std::vector<std::uint32_t> decodes_;

  Totals totals_;
  MemorySeries series_;
};

}  // namespace aqua::sim
