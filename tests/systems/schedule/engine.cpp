// SPDX-License-Identifier: Apache-2.0
#include "tests/systems/schedule/engine.hpp"

#include <algorithm>

namespace aqua::schedule::test {
namespace {
using Where = EngineSequence::Where;
std::uint64_t number(SequenceId id) {
  return static_cast<std::uint64_t>(id);
}
}  // namespace

std::uint64_t Engine::arrive(std::uint32_t prompt, std::uint32_t output, bool tell_output,
                             double weight, std::uint64_t tenant, std::uint32_t cached) {
  return come({.prompt_tokens = prompt,
               .max_new_tokens = tell_output ? output : 0,
               .cached_tokens = cached,
               .tenant = TenantId{tenant},
               .weight = weight},
              output);
}

std::uint64_t Engine::come(Request request, std::uint32_t output) {
  const std::uint64_t id = next_id_++;
  request.id = SequenceId{id};
  const auto arrived = scheduler_->arrive(request);
  EXPECT_TRUE(arrived.ok()) << arrived.error().message;
  EngineSequence& s = sequences_[id];
  s = {.prompt = request.prompt_tokens,
       .output = output,
       .generated = request.generated_tokens,
       .waits_since = iterations_};
  s.computed = std::min(request.cached_tokens, s.prompt + s.generated - 1);
  if (s.computed == 0) return id;
  const bool here = request.cached_in == Tier::local;
  s.where = here ? Where::device : Where::away;
  if (here) s.blocks = blocks_for(s.computed);
  if (here) batch_ = {};
  return id;
}

void Engine::finish(std::uint64_t id) {
  EXPECT_TRUE(scheduler_->finish(SequenceId{id}).ok());
  sequences_.erase(id);
}

void Engine::depart(std::uint64_t id) {
  EXPECT_TRUE(scheduler_->depart(SequenceId{id}).ok());
  sequences_.erase(id);
}

bool Engine::hold(std::uint64_t id) {
  EngineSequence& s = sequences_.at(id);
  const Result<void> held = scheduler_->hold(SequenceId{id});
  if (!held.ok()) {
    const bool twice = s.held || s.to_hold;
    EXPECT_TRUE(twice || s.where != Where::device) << held.error().message;
    EXPECT_EQ(held.error().code, twice ? Code::already_exists : Code::failed_precondition);
    return false;
  }
  EXPECT_EQ(s.where, Where::device);
  s.held = scheduler_->sequence(SequenceId{id})->held;
  s.to_hold = !s.held;
  return true;
}

void Engine::release(std::uint64_t id) {
  EngineSequence& s = sequences_.at(id);
  const Result<void> released = scheduler_->release(SequenceId{id});
  EXPECT_EQ(released.ok(), s.held || s.to_hold);
  s.held = s.to_hold = false;
}

void Engine::begin_holds() {
  for (auto& [id, s] : sequences_) {
    if (!s.to_hold) continue;
    s.held = true;
    s.to_hold = false;
    EXPECT_TRUE(scheduler_->sequence(SequenceId{id})->held);
  }
}

void Engine::set_device_blocks(std::uint32_t blocks) {
  options_.device_blocks = blocks;
  scheduler_->set_device_blocks(blocks);
  batch_ = {};
}

void Engine::set_swap_blocks(std::uint32_t blocks) {
  options_.swap_blocks = blocks;
  scheduler_->set_swap_blocks(blocks);
}

void Engine::end_copy(std::uint64_t id, bool failed, Tier tier) {
  EngineSequence& s = sequences_.at(id);
  ASSERT_TRUE(s.where == Where::going || s.where == Where::coming);
  const bool stays_in = (s.where == Where::going) == failed;
  if (failed) {
    EXPECT_TRUE(scheduler_->copy_failed(SequenceId{id}).ok());
  } else if (s.where == Where::going) {
    EXPECT_TRUE(scheduler_->paged_out(SequenceId{id}, tier).ok());
  } else {
    EXPECT_TRUE(scheduler_->paged_in(SequenceId{id}).ok());
  }
  s.where = stays_in ? Where::device : Where::away;
  if (!stays_in) s.blocks = 0;
}

void Engine::lose(std::uint64_t id) {
  EXPECT_TRUE(scheduler_->lost(SequenceId{id}).ok());
  EngineSequence& s = sequences_.at(id);
  s.where = Where::nowhere;
  s.computed = s.blocks = 0;
  s.held = s.to_hold = false;
}

std::uint32_t Engine::held() const {
  std::uint32_t sum = 0;
  for (const auto& [id, s] : sequences_) sum += s.blocks;
  return sum;
}

const Batch& Engine::plan() {
  batch_ = scheduler_->next();
  begin_holds();
  for (const Preemption& out : batch_.preemptions) {
    EngineSequence& s = sequences_.at(number(out.id));
    EXPECT_EQ(s.where, Where::device) << "preempts one who is not resident";
    EXPECT_FALSE(s.held) << "preempts one who is held";
    EXPECT_EQ(out.blocks, s.blocks);
    preemptions_ += 1;
    if (out.how == Preemption::How::swap) {
      s.where = Where::going;
    } else {
      s.where = Where::nowhere;
      s.computed = s.blocks = 0;
    }
  }
  for (const PageIn& in : batch_.page_ins) {
    EngineSequence& s = sequences_.at(number(in.id));
    EXPECT_EQ(s.where, Where::away) << "pages in one who is not swapped";
    s.where = Where::coming;
    s.blocks = blocks_for(s.computed);
    EXPECT_EQ(in.blocks, s.blocks);
  }
  if (!batch_.page_ins.empty()) {
    EXPECT_LE(held(), options_.device_blocks);
  }
  check_compute(batch_);
  std::set<std::uint64_t> ordered;
  for (const Preemption& out : batch_.preemptions) ordered.insert(number(out.id));
  for (const PageIn& in : batch_.page_ins) ordered.insert(number(in.id));
  EXPECT_EQ(ordered.size(), batch_.preemptions.size() + batch_.page_ins.size())
      << "orders the same twice";
  for (const PrefillChunk& chunk : batch_.prefills) {
    EXPECT_FALSE(ordered.contains(number(chunk.id))) << "ordered and computed";
  }
  for (const SequenceId id : batch_.decodes) {
    EXPECT_FALSE(ordered.contains(number(id))) << "ordered and computed";
  }
  const SchedulerStatus status = scheduler_->status();
  EXPECT_EQ(status.device_blocks_held, held());
  EXPECT_EQ(
      status.waiting + status.resident + status.paging_out + status.swapped + status.paging_in,
      sequences_.size())
      << "a sequence is lost";
  const auto swaps = [](const Preemption& out) { return out.how == Preemption::How::swap; };
  if (std::any_of(batch_.preemptions.begin(), batch_.preemptions.end(), swaps)) {
    EXPECT_LE(status.swap_blocks_held, options_.swap_blocks);
  }
  return batch_;
}

void Engine::check_compute(const Batch& batch) {
  EXPECT_LE(batch.tokens(), options_.budget_tokens);
  if (options_.max_sequences > 0) {
    EXPECT_LE(batch.prefills.size() + batch.decodes.size(), options_.max_sequences);
  }
  std::set<std::uint64_t> seen;
  std::int64_t more = 0;
  for (const PrefillChunk& chunk : batch.prefills) {
    ASSERT_TRUE(seen.insert(number(chunk.id)).second) << "twice in a batch";
    ASSERT_TRUE(sequences_.contains(number(chunk.id))) << "computes one who has finished";
    const EngineSequence& s = sequences_.at(number(chunk.id));
    EXPECT_TRUE(s.where == Where::device || s.where == Where::nowhere) << "is not resident";
    EXPECT_FALSE(s.held) << "computes one who is held";
    EXPECT_EQ(chunk.first, s.computed);
    EXPECT_GT(chunk.tokens, 0U);
    EXPECT_LE(s.computed + chunk.tokens, s.prompt + s.generated);
    EXPECT_EQ(chunk.last, s.computed + chunk.tokens == s.prompt + s.generated);
    more += std::int64_t{blocks_for(s.computed + chunk.tokens)} - s.blocks;
  }
  for (const SequenceId id : batch.decodes) {
    ASSERT_TRUE(seen.insert(number(id)).second) << "twice in a batch";
    ASSERT_TRUE(sequences_.contains(number(id))) << "computes one who has finished";
    const EngineSequence& s = sequences_.at(number(id));
    EXPECT_EQ(s.where, Where::device);
    EXPECT_FALSE(s.held) << "computes one who is held";
    EXPECT_EQ(s.computed + 1, s.prompt + s.generated);
    more += std::int64_t{blocks_for(s.computed + batch.repeat)} - s.blocks;
  }
  EXPECT_GE(batch.repeat, 1U);
  if (more > 0) {
    EXPECT_LE(held() + more, options_.device_blocks) << "out of memory";
  }
}

std::vector<std::uint64_t> Engine::run(std::uint32_t iterations) {
  const auto committed = scheduler_->commit(iterations);
  EXPECT_TRUE(committed.ok()) << committed.error().message;
  std::vector<std::uint64_t> finished;
  const auto serve = [&](SequenceId id, std::uint32_t tokens, std::uint32_t generated) {
    const auto found = sequences_.find(number(id));
    if (found == sequences_.end()) return;
    EngineSequence& s = found->second;
    if (s.where == Where::nowhere && s.computed == 0) s.where = Where::device;
    s.computed += tokens;
    s.generated += generated;
    s.blocks = blocks_for(s.computed);
    s.longest_wait = std::max(s.longest_wait, iterations_ - s.waits_since);
    s.waits_since = iterations_ + iterations;
    generated_ += generated;
    if (s.generated >= s.output) finished.push_back(number(id));
  };
  for (const PrefillChunk& chunk : batch_.prefills) {
    serve(chunk.id, chunk.tokens, chunk.last ? 1 : 0);
  }
  for (const SequenceId id : batch_.decodes) serve(id, iterations, iterations);
  iterations_ += iterations;
  begin_holds();
  for (const std::uint64_t id : finished) finish(id);
  return finished;
}

std::vector<std::uint64_t> Engine::copies() const {
  std::vector<std::uint64_t> ids;
  for (const auto& [id, s] : sequences_) {
    if (s.where == Where::going || s.where == Where::coming) ids.push_back(id);
  }
  return ids;
}

std::vector<std::uint64_t> Engine::step() {
  while (plan().moves()) {
    for (const std::uint64_t id : copies()) end_copy(id);
  }
  if (!batch_.computes()) return {};
  return run();
}

}  // namespace aqua::schedule::test
