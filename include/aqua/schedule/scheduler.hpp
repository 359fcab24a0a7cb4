// SPDX-License-Identifier: Apache-2.0
// Scheduler decides, iteration by iteration, which sequences an engine computes, and which go
// out to the swap space and come back, so that every prompt gets its turn.
// docs/engine/scheduling.md describes the policies and has an engine loop to copy.
//
//   auto made = schedule::make_scheduler(schedule::kDefaultPolicy, {.device_blocks = 4096});
//   schedule::Scheduler& scheduler = **made;
//   while (serving()) {  // the results of arrive(), commit() and finish() are left out here
//     for (const schedule::Request& request : came()) (void)scheduler.arrive(request);
//     const schedule::Batch& batch = scheduler.next();
//     copy(batch.preemptions);          // then paged_out() for each that was swapped,
//     copy(batch.page_ins);             // and paged_in() for each, when it is over
//     if (!batch.computes()) continue;  // until a copy is over, or a request comes
//     compute(batch);
//     (void)scheduler.commit();
//     for (const schedule::SequenceId id : ended()) (void)scheduler.finish(id);
//   }
//
// Time: the scheduler counts iterations; auto alone heeds set_time(). Copies take as long as they
// take: what is under way is not computed and holds its blocks until the caller says that it is
// over. An engine that copies while nothing runs calls next() again after them, and commits the
// batch without moves.
// Threads: not thread-safe; pure and deterministic: the same calls give the same answers.
// Owns: numbers only. The caller keeps the bytes, and the block tables.
// Errors: a call that fails changes nothing. not_found: no such sequence.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/export.h"
#include "aqua/result.hpp"
#include "aqua/schedule/batch.hpp"
#include "aqua/schedule/options.hpp"
#include "aqua/schedule/sequence.hpp"
#include "aqua/schedule/sharing.hpp"

namespace aqua::schedule {

struct SchedulerStatus {
  std::size_t waiting = 0, resident = 0, paging_out = 0, swapped = 0, paging_in = 0;
  std::size_t held = 0;                  // of the residents
  std::uint32_t device_blocks = 0;       // capacity
  std::uint32_t device_blocks_held = 0;  // by residents and by copies under way
  std::uint32_t swap_blocks = 0;         // capacity
  std::uint32_t swap_blocks_held = 0;    // prefix hits not yet fetched are not in it
  bool falling_back = false;             // to fcfs, for the slow tier (SchedulerOptions)
  // auto: how it shares now (why() says it in a sentence), how often it has switched to each way of
  // sharing, and how many answers it keeps at their pace and not. Who still waits for a first token
  // is in neither.
  Sharing sharing = Sharing::fixed;
  std::array<std::uint64_t, kSharings.size()> switched_to{};  // by Sharing
  std::size_t paced = 0, backlog = 0;
  // auto: tokens a second that answers at their pace ask for in sum, and that the engine is seen to
  // decode while somebody waits outside: 0 when nobody does, and until enough was seen.
  double asked_per_second = 0, sustained_per_second = 0;
  friend bool operator==(const SchedulerStatus&, const SchedulerStatus&) = default;
};

// why(status.sharing), and the figures that decide it.
[[nodiscard]] AQUA_API std::string why(const SchedulerStatus& status);

class AQUA_API Scheduler {
 public:
  Scheduler() = default;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  virtual ~Scheduler();

  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  // --- what happens --------------------------------------------------------------------------
  // already_exists; invalid_argument names the field; resource_exhausted when prompt and
  // max_new_tokens would not fit into the whole device, or when the blocks that it brings KV in
  // (Tier::local) are not free. Such KV voids the batch, as a change of capacity does.
  [[nodiscard]] virtual Result<void> arrive(const Request& request) = 0;
  // Ends a sequence in any state, and counts its blocks as free at once; report nothing more about
  // this id. Where a copy of it still runs, the caller keeps the blocks until that copy has ended,
  // or until stream order sees to it. auto learns from its length how long answers are, also where
  // its user has hung up: it cannot tell one from the other.
  [[nodiscard]] virtual Result<void> finish(SequenceId id) = 0;
  // As finish(), for a sequence that goes on elsewhere: auto learns nothing from its length.
  [[nodiscard]] virtual Result<void> depart(SequenceId id) = 0;

  // Keeps a resident as it is from the next iteration boundary on: it is not computed, it is not
  // sent out, and its blocks stay, also where the device shrinks below them. Others are served on.
  // SequenceStatus::held says when that begins: at once, but where the last batch computes the
  // sequence and is not yet committed, with commit(), which still counts, or with another next(),
  // which leaves it out. An engine that commits at the launch waits for the kernels itself.
  // failed_precondition when its KV is not on the device; already_exists when it is held, or will
  // be. lost(), finish() and depart() end a hold.
  [[nodiscard]] virtual Result<void> hold(SequenceId id) = 0;
  // It goes on. failed_precondition when it is not held.
  [[nodiscard]] virtual Result<void> release(SequenceId id) = 0;

  // The copies ordered are over. failed_precondition when none of that kind is under way.
  [[nodiscard]] virtual Result<void> paged_out(SequenceId id, Tier to) = 0;
  [[nodiscard]] virtual Result<void> paged_in(SequenceId id) = 0;
  // The copy under way failed and did nothing: the sequence is as before it. A page-out that fails
  // is taken for a lack of room: for the next slice_iterations iterations, or until
  // set_swap_blocks() is called or set_swap_tier() names another tier, no more KV is sent there
  // than it holds just now. auto preempts nobody by copying meanwhile; the other policies drop KV,
  // to compute it again, as with a full swap space. Bounds on waits hold where page-outs succeed.
  [[nodiscard]] virtual Result<void> copy_failed(SequenceId id) = 0;
  // A swapped sequence's bytes went to another tier (evacuation, promotion).
  [[nodiscard]] virtual Result<void> moved(SequenceId id, Tier to) = 0;
  // Its KV is gone, wherever it was: it waits and is computed again.
  [[nodiscard]] virtual Result<void> lost(SequenceId id) = 0;

  // The device's or the swap space's capacity changed (memory lent, reclaimed; a prefix cache's
  // share). May be below what is held: the next decisions then preempt until it fits, and order
  // nothing new out or in, respectively. Call these after commit() and before next(): a change in
  // between voids the batch, and commit() refuses it.
  virtual void set_device_blocks(std::uint32_t blocks) = 0;
  virtual void set_swap_blocks(std::uint32_t blocks) = 0;
  // Says where page-outs land from now on; auto may name another tier (Preemption::to).
  virtual void set_swap_tier(Tier tier) = 0;
  // Tells the seconds since some beginning: before each next(), since auto plans for that time and
  // measures iterations by it, and before paged_in(), since it measures how long coming back takes.
  // What is told before next() is taken for the end of the batch before it.
  // Told none, auto takes an iteration to last for half of seconds_per_token, and limits no
  // prompts. invalid_argument when it is negative, not a number, or before the last.
  [[nodiscard]] virtual Result<void> set_time(double seconds) = 0;

  // auto: what copying a block between the device and lent (peer) or host memory was measured to
  // take, in place of what the options say. Page-outs turn to the host when a block comes back from
  // there in less than 0.8 of the time, and to lent memory again when it takes as long. Of a tier
  // that was told of once and is not turned to, one page-out in 256 tries again what it takes, and
  // ever more rarely as long as this changes nothing, down to one in 16,384. invalid_argument for
  // another tier, and for what is no number of seconds above 0.
  [[nodiscard]] virtual Result<void> set_seconds_per_block(Tier tier, double seconds) = 0;

  // --- decisions -----------------------------------------------------------------------------
  // The next iteration. The batch stays as it is until next() is called again. Without moves and
  // without calls in between it returns the same again. O(log n) in the number of sequences for
  // each entry that changes; memory for n sequences is only touched when they move.
  [[nodiscard]] virtual const Batch& next() = 0;
  // Says that the last batch is computed, `iterations` times (1..repeat), at its launch or once its
  // kernels have ended: counts its tokens and takes its blocks. Sequences that finished or were
  // lost since are skipped. failed_precondition when next() was not called since the last commit or
  // change of capacity; invalid_argument for more than repeat.
  [[nodiscard]] virtual Result<void> commit(std::uint32_t iterations = 1) = 0;

  // --- questions -----------------------------------------------------------------------------
  [[nodiscard]] virtual Result<SequenceStatus> sequence(SequenceId id) const = 0;
  [[nodiscard]] virtual SchedulerStatus status() const noexcept = 0;
};

// For whoever has no reason for another. Its one objective is seconds_per_token: prompts come
// first, as many answers keep their pace as the engine was seen to sustain, and the others are
// served first come, first served. It does not weigh paging against doing without it, and predicts
// no time to a first token.
inline constexpr std::string_view kDefaultPolicy = "auto";

// auto | las | cfs | fcfs | vtc, in this order.
[[nodiscard]] AQUA_API std::vector<std::string> scheduler_names();

// invalid_argument names the field that cannot be, or lists the names there are.
[[nodiscard]] AQUA_API Result<std::unique_ptr<Scheduler>> make_scheduler(
    std::string_view name, const SchedulerOptions& options);

}  // namespace aqua::schedule
