#include "toy_engine.hpp"

#include <algorithm>

#include "must.hpp"
#include "sizes.hpp"

namespace aqua::example {
namespace {

constexpr std::uint32_t kCacheBlocks = kCacheBytes / CacheShape::kBlockBytes;
constexpr std::uint32_t kBudgetBlocks = kTensorBudgetBytes / CacheShape::kBlockBytes;
constexpr std::uint32_t kGrowthBlocks = 16;  // kept free when a sequence comes in

}  // namespace

ToyEngine::ToyEngine(Runtime& runtime, std::uint32_t tenant)
    : runtime_(runtime),
      tenant_(tenant),
      cache_(runtime, kCacheBlocks),
      swap_(runtime, cache_, tenant),
      compute_(must(emulated::create_stream(runtime), "compute stream")) {}

ToyEngine::~ToyEngine() {
  (void)emulated::destroy_stream(runtime_, compute_);
}

void ToyEngine::submit(const WorkItem& item) {
  auto sequence = std::make_unique<Sequence>();
  sequence->id = item.id;
  sequence->prompt_tokens = item.prompt_tokens;
  sequence->output_tokens = item.output_tokens;
  waiting_.push_back(std::move(sequence));
  ++stats_.submitted;
}

void ToyEngine::iterate() {
  runtime_.tick();
  collect();
  admit();
  schedule();
  decode();
  launch_writes(runtime_, compute_, cache_.geometry(), std::exchange(writings_, {}));
  for (const auto& sequence : active_) {
    if (sequence->phase == Phase::resident && sequence->generated == sequence->output_tokens) {
      finish(*sequence);
    }
  }
  must(emulated::synchronize(runtime_, compute_), "compute");
  ++stats_.iterations;
}

void ToyEngine::collect() {
  for (auto& sequence : active_) {
    if (sequence->phase == Phase::leaving && swap_.advance(*sequence)) {
      turn_.push_back(sequence.get());
    } else if (sequence->phase == Phase::returning) {
      (void)swap_.advance(*sequence);
    } else if (sequence->phase == Phase::finishing) {  // its check ran before iterate() returned
      stats_.verified_in_cache += sequence->check->bytes;
      stats_.mismatched_in_cache += sequence->check->mismatched_bytes;
      committed_blocks_ -= sequence->final_blocks();
      cache_.give_back(sequence->blocks);
      ++stats_.done;
      sequence.reset();
    }
  }
  std::erase(active_, nullptr);
}

void ToyEngine::admit() {
  while (!waiting_.empty()) {
    const std::uint32_t blocks = waiting_.front()->final_blocks();
    if (committed_blocks_ + blocks > kCacheBlocks + kBudgetBlocks) return;
    committed_blocks_ += blocks;
    turn_.push_back(waiting_.front().get());
    active_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

// Victims are chosen before anything is launched: the kernels of earlier iterations are over.
void ToyEngine::schedule() {
  if (std::exchange(starved_, false) && leaving_blocks() == 0) (void)preempt(0);
  while (!turn_.empty()) {
    const std::uint32_t need = blocks_for(turn_.front()->tokens()) + kGrowthBlocks;
    if (cache_.free_blocks() >= need) {
      start(*turn_.front());
      turn_.pop_front();
    } else if (cache_.free_blocks() + leaving_blocks() >= need || !preempt(kSliceTokens)) {
      return;  // room is on its way, or nobody has had its slice
    }
  }
}

// A new sequence is prefilled: all its prompt's tokens in one kernel.
void ToyEngine::start(Sequence& sequence) {
  if (sequence.phase == Phase::away) return swap_.bring_back(sequence);
  sequence.blocks = cache_.take(blocks_for(sequence.tokens()));
  const auto slots =
      static_cast<std::uint32_t>(sequence.blocks.size()) * CacheShape::kTokensPerBlock;
  writings_.push_back({copy_of(sequence), 0, slots});
  sequence.phase = Phase::resident;
  sequence.run = 0;
}

// Of the sequences that have run for at least `min_run` tokens, the one that ran longest and
// for which there is tensor memory.
bool ToyEngine::preempt(std::uint32_t min_run) {
  std::vector<Sequence*> victims;
  for (const auto& sequence : active_) {
    const bool old = sequence->phase == Phase::resident && sequence->run >= min_run;
    if (old) victims.push_back(sequence.get());
  }
  std::stable_sort(victims.begin(), victims.end(),
                   [](const Sequence* a, const Sequence* b) { return a->run > b->run; });
  return std::any_of(victims.begin(), victims.end(),
                     [this](Sequence* victim) { return swap_.send_away(*victim); });
}

void ToyEngine::decode() {
  for (const auto& sequence : active_) {
    if (sequence->phase != Phase::resident) continue;
    if (needs_block(*sequence)) {
      if (cache_.free_blocks() == 0) {
        starved_ = true;  // skips a turn
        continue;
      }
      sequence->blocks.push_back(cache_.take(1).front());
    }
    const std::uint32_t position = sequence->tokens();
    ++sequence->generated;
    ++sequence->run;
    ++stats_.tokens;
    // A block's first token brings the stamps of its empty slots with it.
    const bool opens = position % CacheShape::kTokensPerBlock == 0;
    const std::uint32_t slots = opens ? CacheShape::kTokensPerBlock : 1;
    writings_.push_back({copy_of(*sequence), position, position + slots});
  }
}

void ToyEngine::finish(Sequence& sequence) {
  sequence.check = launch_check(runtime_, compute_, cache_.geometry(), copy_of(sequence));
  sequence.phase = Phase::finishing;
}

bool ToyEngine::needs_block(const Sequence& sequence) const {
  return sequence.tokens() == sequence.blocks.size() * CacheShape::kTokensPerBlock;
}

std::uint32_t ToyEngine::leaving_blocks() const {
  std::size_t blocks = 0;
  for (const auto& sequence : active_) {
    if (sequence->phase == Phase::leaving) blocks += sequence->blocks.size();
  }
  return static_cast<std::uint32_t>(blocks);
}

SequenceCopy ToyEngine::copy_of(const Sequence& sequence) const {
  return {tenant_, sequence.id, sequence.tokens(), sequence.blocks};
}

LoadReport ToyEngine::load() const {
  LoadReport load;
  load.queue_length = static_cast<double>(waiting_.size() + turn_.size());
  load.kv_bytes_used = (cache_.blocks() - cache_.free_blocks()) * CacheShape::kBlockBytes;
  load.kv_bytes_wanted = load.kv_bytes_used;
  for (const auto& sequence : waiting_) load.kv_bytes_wanted += sequence->bytes();
  for (const Sequence* sequence : turn_) load.kv_bytes_wanted += sequence->bytes();
  return load;
}

ConsumerStats ToyEngine::stats() const {
  ConsumerStats stats = stats_;
  stats.waiting = waiting_.size();
  for (const auto& sequence : active_) {
    const bool in_cache = sequence->phase == Phase::resident || sequence->phase == Phase::finishing;
    if (sequence->phase == Phase::waiting) {
      ++stats.waiting;
    } else {
      ++(in_cache ? stats.resident : stats.preempted);
    }
  }
  stats.swap = swap_.stats();
  return stats;
}

}  // namespace aqua::example
