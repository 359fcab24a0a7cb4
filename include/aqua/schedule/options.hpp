// SPDX-License-Identifier: Apache-2.0
// What a scheduler is made with. The same options serve every policy, so that policies are
// compared on equal terms.
#pragma once

#include <cstdint>

#include "aqua/types.hpp"

namespace aqua::schedule {

// How a preempted sequence gets its KV back.
enum class PreemptBy : std::uint8_t {
  swap,       // copied out and in; by recomputation only where the swap space is full
  recompute,  // dropped and computed again
  cheaper,    // whichever the two costs below call cheaper for the sequence at hand
};

struct SchedulerOptions {
  // B: tokens that one iteration computes at most, prefill and decode together. The chunk of
  // chunked prefill. At least 2.
  std::uint32_t budget_tokens = 512;
  // Sequences in one iteration at most (buffers, CUDA graphs of the engine). 0: no limit but B.
  std::uint32_t max_sequences = 0;
  // n: iterations in a time slice of las and cfs, and how many auto keeps a sequence that it has
  // brought in. Longer: fewer page-outs, longer waits.
  std::uint32_t slice_iterations = 64;
  // Tokens of the budget B that decodes may not take while a prefill is runnable (las, cfs, auto):
  // d stays below B - min_prefill_tokens + 1. The paper's "below B" is 1, which lets a prompt
  // trickle in by the token; with a share no prompt's first token waits for decodes. Taken as B / 2
  // at most.
  std::uint32_t min_prefill_tokens = 64;

  // auto: the time between two tokens that readers are promised, the TPOT of the SLA. An iteration
  // with prompts takes 0.9 of it at most, or twice what one without takes where that is more; but
  // the share of prompts (min_prefill_tokens) is always computed. From 1e-9 to 1e9, so that no
  // weight makes of it a time that cannot be counted.
  double seconds_per_token = 0.1;

  std::uint32_t block_tokens = 16;         // tokens in a block
  std::uint32_t device_blocks = 0;         // KV blocks of the device; must be given
  std::uint32_t swap_blocks = UINT32_MAX;  // the swap space's; shared with no one that we know of

  // swap for las, cfs and vtc is what the paper does; vLLM's default is recompute.
  PreemptBy preempt_by = PreemptBy::swap;
  // For `cheaper`: time to compute one token again, above 0; to copy one block one way.
  double recompute_seconds_per_token = 0;
  double swap_seconds_per_block = 0;

  // auto: time to copy one block between the device and lent or host memory, as measured, latencies
  // included (Scheduler::set_seconds_per_block() tells them later). Where a block comes back sooner
  // from the host, page-outs are meant to go there. 0: not known, and lent memory is taken for the
  // nearer.
  double peer_seconds_per_block = 0;
  double host_seconds_per_block = 0;

  // las and cfs schedule as fcfs does (nobody is preempted for fairness) while swapped state is on
  // `slow_tier`, or would go there (Aqua, section 7: paging over PCIe costs more than it gives).
  bool fcfs_on_slow_tier = true;
  Tier slow_tier = Tier::host;
  // Where a page-out would land, until set_swap_tier() says otherwise.
  Tier swap_tier = Tier::peer;
};

}  // namespace aqua::schedule
