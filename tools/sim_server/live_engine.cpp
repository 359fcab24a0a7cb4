// SPDX-License-Identifier: Apache-2.0
#include "tools/sim_server/live_engine.hpp"

#include <cstdlib>

namespace aqua::tool {
namespace {

std::unique_ptr<schedule::Scheduler> scheduler_of(const sim::Ground& ground) {
  auto options = sim::scheduler_options(ground, sim::parse_policy("fcfs").value());
  options.preempt_by = schedule::PreemptBy::recompute;
  auto made = schedule::make_scheduler("fcfs", options);
  if (!made.ok()) std::abort();
  return std::move(made).value();
}

}  // namespace

LiveEngine::LiveEngine(const sim::Ground& ground, double speed)
    : ground_(ground),
      speed_(speed),
      scheduler_(scheduler_of(ground)),
      thread_([this] { run(); }) {}

LiveEngine::~LiveEngine() {
  {
    const MutexLock lock(mu_);
    over_ = true;
  }
  news_.notify_all();
  thread_.join();
}

std::shared_ptr<LiveEngine::Job> LiveEngine::submit(std::uint32_t prompt, std::uint32_t output) {
  auto job = std::make_shared<Job>();
  job->prompt = prompt;
  job->output = output;
  const MutexLock lock(mu_);
  arrivals_.push_back(job);
  news_.notify_all();
  return job;
}

void LiveEngine::abort(const std::shared_ptr<Job>& job) {
  const MutexLock lock(mu_);
  job->aborted = true;
}

LiveEngine::Progress LiveEngine::await(Job& job, std::uint32_t had,
                                       std::chrono::milliseconds patience) {
  const Clock::time_point until = Clock::now() + patience;
  const MutexLock lock(mu_);
  while (job.produced <= had && !job.refused && job.changed.wait_until(mu_, until)) {
  }
  return {job.produced, job.refused};
}

LiveEngine::Memory LiveEngine::memory() const {
  const MutexLock lock(mu_);
  const schedule::SchedulerStatus status = scheduler_->status();
  return {status.device_blocks, status.device_blocks_held};
}

void LiveEngine::take_news() {
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    const auto next = std::next(at);
    if (at->second->aborted) {
      (void)scheduler_->finish(at->first);
      jobs_.erase(at);
    }
    at = next;
  }
  for (const auto& job : arrivals_) {
    const auto id = schedule::SequenceId{next_id_++};
    if (job->aborted) continue;
    const bool fits =
        scheduler_->arrive({.id = id, .prompt_tokens = job->prompt, .max_new_tokens = job->output})
            .ok();
    if (fits) jobs_.emplace(id, job);
    job->refused = !fits;
    if (!fits) job->changed.notify_all();
  }
  arrivals_.clear();
}

// As sim::Engine::compute() has it.
sim::Picos LiveEngine::length_of(const schedule::Batch& batch) const {
  const sim::CostModel& cost = ground_.cost;
  sim::Picos length = cost.linear(batch.tokens());
  auto rows = static_cast<std::uint32_t>(batch.decodes.size());
  for (const schedule::PrefillChunk& chunk : batch.prefills) {
    length += cost.prefill_attention(chunk.tokens, chunk.first);
    rows += chunk.last ? 1 : 0;
  }
  std::uint64_t kv_tokens = 0;
  for (const schedule::SequenceId id : batch.decodes) {
    const Job& job = *jobs_.at(id);
    kv_tokens += job.prompt + job.produced;
  }
  return length + cost.head(rows) +
         cost.decode_attention_per_token() * static_cast<sim::Picos>(kv_tokens);
}

void LiveEngine::give_token(schedule::SequenceId id) {
  const auto found = jobs_.find(id);
  Job& job = *found->second;
  ++job.produced;
  job.changed.notify_all();
  if (job.produced < job.output) return;
  (void)scheduler_->finish(id);
  jobs_.erase(found);
}

void LiveEngine::run() {
  const MutexLock lock(mu_);
  Clock::time_point end = Clock::now();  // of the last iteration, on time
  while (!over_) {
    take_news();
    const schedule::Batch batch = scheduler_->next();
    if (!batch.computes()) {
      while (!batch.moves() && !over_ && arrivals_.empty()) news_.wait(mu_);
      end = Clock::now();
      continue;
    }
    const double length = sim::seconds(length_of(batch)) / speed_;
    (void)scheduler_->commit();
    end += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(length));
    while (!over_ && news_.wait_until(mu_, end)) {
    }
    for (const schedule::SequenceId id : batch.decodes) give_token(id);
    for (const schedule::PrefillChunk& chunk : batch.prefills) {
      if (chunk.last) give_token(chunk.id);
    }
  }
}

}  // namespace aqua::tool
