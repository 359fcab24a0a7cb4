// SPDX-License-Identifier: Apache-2.0
#include "gpu/measure.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace aqua::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kPatience = 2'000'000'000;  // nanoseconds
constexpr std::size_t kQueueDepth = 900;            // commands that surely fit a stream's queue
constexpr std::uint64_t kClearSeed = 99;

}  // namespace

Meter::Between::Between(const CopyTask& task) {
  std::vector<kernels::Segment> written;
  for (const BlockList* list : task.moves)
    written.insert(written.end(), list->segments().begin(), list->segments().end());
  const std::vector<Gap> all = bench::gaps(task.cleared, written);
  count_ = all.size();
  if (count_ == 0) return;
  on_device_.emplace(Where::device, count_ * sizeof(Gap));
  must(cudaMemcpy(on_device_->data(), all.data(), on_device_->bytes(), cudaMemcpyDefault));
  must(cudaDeviceSynchronize());
}

Gate::Gate() : memory_(Where::host, sizeof(GateFlags)) {}

void Gate::close(cudaStream_t stream) {
  flags().open = 0;
  flags().gave_up = 0;
  must(hold(&flags(), kPatience, stream));
}

void Gate::open() {
  flags().open = 1;
}

std::vector<Samples> Meter::compare(const std::vector<CopyTask>& tasks) {
  std::vector<Samples> all;
  std::vector<std::unique_ptr<Between>> between;
  for (const CopyTask& task : tasks) {
    double bytes = 0;
    for (const BlockList* list : task.moves) bytes += static_cast<double>(list->bytes());
    all.push_back({.name = task.name, .bytes = bytes, .gated = task.commands <= kQueueDepth});
    between.push_back(std::make_unique<Between>(task));
    // Kernels are loaded while nothing waits.
    static_cast<void>(verified(task, *between.back(), false));
    if (all.back().gated) all.back().gated = time(task, true).held;
  }
  for (unsigned r = 0; r < repetitions_; ++r) {
    for (std::size_t w = 0; w < tasks.size(); ++w) {
      const auto before = tasks[w].counts ? tasks[w].counts() : device::CopyCounts{};
      const Times idle = verified(tasks[w], *between[w], false);
      if (tasks[w].counts) all[w].ran = tasks[w].counts().since(before);
      all[w].posted.push_back(idle.posted);
      if (all[w].gated) {
        const Times behind = verified(tasks[w], *between[w], true);
        all[w].gated = behind.held;
        if (behind.held) all[w].seconds.push_back(behind.events);
        if (!behind.held) all[w].seconds = all[w].ungated;  // one kind in a row
      }
      all[w].ungated.push_back(idle.events);
      if (!all[w].gated) all[w].seconds.push_back(idle.events);
      if (tasks[w].chosen) all[w].chosen = tasks[w].chosen();
    }
  }
  return all;
}

Meter::Times Meter::time(const CopyTask& task, bool gated) {
  const auto begin = Clock::now();  // what is prepared is waited for as well
  if (task.prepare) task.prepare();
  if (gated) gate_.close(stream_.get());
  start_.record(stream_.get());
  task.queue(stream_.get());
  stop_.record(stream_.get());
  if (gated) gate_.open();
  stream_.synchronize();
  const double posted = std::chrono::duration<double>(Clock::now() - begin).count();
  if (task.finish) task.finish();
  return {stop_.seconds_since(start_), posted, !gated || gate_.held()};
}

Meter::Times Meter::verified(const CopyTask& task, const Between& between, bool gated) {
  clear(task);
  const Times times = time(task, gated);
  verify(task, between);
  return times;
}

void Meter::clear(const CopyTask& task) {
  for (const auto area : task.cleared) {
    must(fill(area.data(), area.size(), kClearSeed, stream_.get()));
  }
  stream_.synchronize();
}

void Meter::verify(const CopyTask& task, const Between& between) {
  const Buffer counter(Where::host, sizeof(unsigned long long));
  auto* words = reinterpret_cast<unsigned long long*>(counter.data());
  *words = 0;
  for (const BlockList* list : task.moves) {
    must(count_differences(list->launch().segments, list->launch().count, words, stream_.get()));
  }
  stream_.synchronize();
  const unsigned long long wrong = *words;
  must(count_overwritten(between.gaps(), between.count(), kClearSeed, words, stream_.get()));
  stream_.synchronize();
  if (*words == 0) return;
  std::fprintf(stderr, "gpu_bench: %s: %llu words are wrong, and %llu between the blocks\n",
               task.name.c_str(), wrong, *words - wrong);
  std::exit(1);
}

}  // namespace aqua::bench
