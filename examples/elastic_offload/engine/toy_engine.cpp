// SPDX-License-Identifier: Apache-2.0
#include "toy_engine.hpp"

#include <algorithm>
#include <thread>

#include "must.hpp"

namespace aqua::example {
namespace {

schedule::SequenceId policy_id(std::uint64_t id) {
  return schedule::SequenceId{id};
}

std::unique_ptr<KvMemory> make_memory(Runtime& runtime, const EngineOptions& options) {
  if (options.layers) return std::make_unique<LayeredKv>(runtime, *options.layers);
  return std::make_unique<KvCache>(runtime, options.cache_blocks);
}

std::unique_ptr<schedule::Scheduler> make_scheduler(const EngineOptions& options,
                                                    std::uint32_t blocks) {
  const schedule::SchedulerOptions wanted{.budget_tokens = kBatchTokens,
                                          .slice_iterations = options.slice_iterations,
                                          .block_tokens = CacheShape::kTokensPerBlock,
                                          .device_blocks = blocks,
                                          .swap_blocks = options.swap_blocks,
                                          .fcfs_on_slow_tier = options.fallback,
                                          .swap_tier = Tier::host};
  return must(schedule::make_scheduler(options.policy, wanted), "scheduler");
}

}  // namespace

ToyEngine::ToyEngine(Runtime& runtime, EngineOptions options)
    : runtime_(runtime),
      options_(std::move(options)),
      memory_(make_memory(runtime, options_)),
      told_blocks_(memory_->blocks()),
      scheduler_(make_scheduler(options_, told_blocks_)),
      swap_(runtime, *memory_, options_.tenant),
      compute_(must(emulated::create_stream(runtime), "compute stream")) {}

ToyEngine::~ToyEngine() {
  (void)emulated::destroy_stream(runtime_, compute_);
}

void ToyEngine::submit(const WorkItem& item, Clock::time_point arrived) {
  // How much it will generate, nobody knows beforehand but the limit.
  must(scheduler_->arrive({.id = policy_id(item.id),
                           .prompt_tokens = item.prompt_tokens,
                           .max_new_tokens = kMaxOutputTokens}),
       "request " + std::to_string(item.id));
  sequences_[item.id] = {.id = item.id,
                         .prompt_tokens = item.prompt_tokens,
                         .output_tokens = item.output_tokens,
                         .arrived = arrived};
  ++stats_.submitted;
}

void ToyEngine::iterate() {
  runtime_.tick();
  const std::chrono::duration<double> since = Clock::now() - began_;
  must(scheduler_->set_time(since.count()), "set_time");
  collect();
  tell_tiers();
  follow_changes();
  const schedule::Batch batch = scheduler_->next();
  carry_out(batch);
  if (batch.computes()) must(scheduler_->commit(), "commit");
  for (const schedule::SequenceId id : refused_) must(scheduler_->copy_failed(id), "copy_failed");
  refused_.clear();
  run_step();
  count();
  ++stats_.iterations;
}

void ToyEngine::run_step() {
  StepWork work{.writings = std::exchange(writings_, {})};
  std::vector<Sequence*> complete;
  for (auto& [id, sequence] : sequences_) {
    if (sequence.phase != Phase::resident || sequence.generated < sequence.output_tokens) continue;
    CheckOrder order{copy_of(sequence)};
    sequence.check = order.check;
    sequence.phase = Phase::finishing;
    work.checks.push_back(std::move(order));
    complete.push_back(&sequence);
  }
  const std::uint32_t used = used_blocks();
  const auto waiting = static_cast<std::uint32_t>(bytes_waiting() / CacheShape::kBlockBytes);
  current_.step = memory_->step(compute_, std::move(work),
                                {.blocks_used = used, .blocks_wanted = used + waiting});
  for (Sequence* sequence : complete) sequence->last_step = current_.step;
  uncounted_.push_back(std::exchange(current_, {}));
  must(emulated::synchronize(runtime_, compute_), "compute");
}

// Blocks and the scheduler's place of what is complete may go to others before its step is safe;
// its tokens may not be used before.
void ToyEngine::count() {
  while (!uncounted_.empty() && memory_->step_done(uncounted_.front().step)) {
    const auto now = Clock::now();
    for (const Clock::time_point arrived : uncounted_.front().waited) {
      stats_.ttft_ms.push_back(std::chrono::duration<double, std::milli>(now - arrived).count());
    }
    stats_.tokens += uncounted_.front().tokens;
    counted_step_ = std::max(counted_step_, uncounted_.front().step);
    uncounted_.pop_front();
  }
  for (; !complete_.empty() && complete_.front() <= counted_step_; complete_.pop_front())
    ++stats_.done;
}

void ToyEngine::collect() {
  for (auto at = sequences_.begin(); at != sequences_.end();) {
    Sequence& sequence = (at++)->second;  // it may go
    const schedule::SequenceId id = policy_id(sequence.id);
    if (sequence.phase == Phase::leaving && copied(sequence)) {
      must(scheduler_->paged_out(id, sequence.tier), "paged_out");
    } else if (sequence.phase == Phase::returning && copied(sequence)) {
      must(scheduler_->paged_in(id), "paged_in");
      costs_.came_back(*scheduler_, sequence.tier, sequence.blocks.size(),
                       SwapSpace::fetch_seconds(sequence));
    } else if (sequence.phase == Phase::finishing) {  // its check ran before iterate() returned
      stats_.verified_in_cache += sequence.check->bytes;
      stats_.mismatched_in_cache += sequence.check->mismatched_bytes;
      memory_->give_back(sequence.id, sequence.blocks);
      complete_.push_back(sequence.last_step);
      must(scheduler_->finish(id), "finish");
      sequences_.erase(sequence.id);
    }
  }
  count();
}

// The memory has other blocks, more or fewer. Those that must leave and have no copy under way are
// computed again; the others' blocks go back when that is over.
void ToyEngine::follow_changes() {
  const KvChange change = memory_->change(compute_);
  for (const layer_swap::BlockMove& move : change.moved)
    std::ranges::replace(sequences_.at(move.sequence).blocks, move.from, move.to);
  leaving_.insert(change.preempt.begin(), change.preempt.end());
  std::erase_if(leaving_, [&](std::uint64_t id) {
    const auto found = sequences_.find(id);
    if (found == sequences_.end() || found->second.blocks.empty()) return true;
    if (found->second.phase != Phase::resident) return false;
    give_up(found->second);
    must(scheduler_->lost(policy_id(id)), "lost");
    return true;
  });
  const std::uint32_t blocks = memory_->blocks();
  if (blocks != std::exchange(told_blocks_, blocks)) scheduler_->set_device_blocks(blocks);
}

// It waits, and is computed again.
void ToyEngine::give_up(Sequence& sequence) {
  memory_->give_back(sequence.id, sequence.blocks);
  sequence.computed = 0;
  sequence.phase = Phase::waiting;
}

bool ToyEngine::copied(Sequence& sequence) {
  while (!swap_.advance(sequence)) {
    if (!options_.wait_for_copies) return false;
    std::this_thread::yield();
  }
  return true;
}

void ToyEngine::tell_tiers() {
  for (auto& [id, sequence] : sequences_) {
    if (sequence.phase != Phase::away || sequence.tensor.tier() == sequence.tier) continue;
    sequence.tier = sequence.tensor.tier();
    must(scheduler_->moved(policy_id(id), sequence.tier), "moved");
  }
  constexpr std::size_t kLongest =
      std::size_t{blocks_for(kMaxPromptTokens + kMaxOutputTokens)} * CacheShape::kBlockBytes;
  const TierStatus peer = runtime_.status().peer;
  const bool room = swap_.uses_lent_memory() && peer.capacity_bytes >= peer.tensor_bytes + kLongest;
  const Tier tier = room ? Tier::peer : Tier::host;
  if (tier != std::exchange(swap_tier_, tier)) scheduler_->set_swap_tier(tier);
}

// Victims are sent away before anything is launched: the kernels of earlier iterations are over.
void ToyEngine::carry_out(const schedule::Batch& batch) {
  for (const schedule::Preemption& order : batch.preemptions) preempt(order);
  for (const schedule::PageIn& order : batch.page_ins) swap_.bring_back(find(order.id));
  for (const schedule::PrefillChunk& chunk : batch.prefills) {
    Sequence& sequence = find(chunk.id);
    sequence.phase = Phase::resident;
    compute(sequence, chunk.tokens);
    if (chunk.last) generate(sequence);
  }
  for (const schedule::SequenceId id : batch.decodes) {
    compute(find(id), 1);
    generate(find(id));
  }
  if (!batch.too_large.empty()) throw Failure("a sequence has outgrown the cache");
}

// Where lent memory has room and the scheduler names the host, blocks come back from there sooner.
void ToyEngine::preempt(const schedule::Preemption& order) {
  Sequence& sequence = find(order.id);
  const bool to_host = order.to == Tier::host && swap_tier_ == Tier::peer;
  if (order.how == schedule::Preemption::How::recompute) {
    give_up(sequence);
    ++stats_.recomputations;
  } else if (!swap_.send_away(sequence, to_host)) {
    refused_.push_back(order.id);
    return;
  }
  if (options_.on_preemption) options_.on_preemption(sequence.id);
}

// Writes the next tokens' keys and values. A block's first token brings the stamps of its empty
// slots with it.
void ToyEngine::compute(Sequence& sequence, std::uint32_t tokens) {
  const std::uint32_t first = sequence.computed, last = first + tokens;
  const auto held = static_cast<std::uint32_t>(sequence.blocks.size());
  std::ranges::copy(memory_->take(sequence.id, blocks_for(last) - held),
                    std::back_inserter(sequence.blocks));
  sequence.computed = last;
  const bool opens = blocks_for(last) > held;
  const std::uint32_t end = opens ? blocks_for(last) * CacheShape::kTokensPerBlock : last;
  writings_.push_back({copy_of(sequence), first, end});
}

void ToyEngine::generate(Sequence& sequence) {
  if (++sequence.generated == 1) current_.waited.push_back(sequence.arrived);
  ++current_.tokens;
}

Sequence& ToyEngine::find(schedule::SequenceId id) {
  return sequences_.at(static_cast<std::uint64_t>(id));
}

SequenceCopy ToyEngine::copy_of(const Sequence& sequence) const {
  return {options_.tenant, sequence.id, sequence.computed, sequence.blocks};
}

LoadReport ToyEngine::load() const {
  LoadReport load;
  const schedule::SchedulerStatus status = scheduler_->status();
  load.queue_length = static_cast<double>(status.waiting + status.paging_out + status.swapped);
  load.kv_bytes_used = used_blocks() * CacheShape::kBlockBytes;
  load.kv_bytes_wanted = load.kv_bytes_used + bytes_waiting();
  return load;
}

// The bytes that sequences without blocks wait for.
std::size_t ToyEngine::bytes_waiting() const {
  std::size_t bytes = 0;
  for (const auto& [id, sequence] : sequences_) {
    if (sequence.blocks.empty()) bytes += sequence.bytes_wanted();
  }
  return bytes;
}

std::uint32_t ToyEngine::used_blocks() const {
  std::size_t blocks = 0;
  for (const auto& [id, sequence] : sequences_) blocks += sequence.blocks.size();
  return static_cast<std::uint32_t>(blocks);
}

ConsumerStats ToyEngine::stats() const {
  ConsumerStats stats = stats_;
  for (const auto& [id, sequence] : sequences_) {
    const bool in_cache = sequence.phase == Phase::resident || sequence.phase == Phase::finishing;
    ++(sequence.phase == Phase::waiting ? stats.waiting
       : in_cache                       ? stats.resident
                                        : stats.preempted);
  }
  stats.swap = swap_.stats();
  stats.expansion = memory_->stats();
  const schedule::SchedulerStatus status = scheduler_->status();
  stats.sharing = to_string(status.sharing);
  stats.why = why(status);
  stats.switched_to = switches_of(status);
  stats.peer_seconds_per_block = costs_.seconds_per_block(Tier::peer);
  stats.host_seconds_per_block = costs_.seconds_per_block(Tier::host);
  return stats;
}

}  // namespace aqua::example
