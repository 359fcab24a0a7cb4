// SPDX-License-Identifier: Apache-2.0
// What allocating inside leased slabs costs: the Suballocator behind one mutex, as the tensor
// table holds it, with slabs 90 % full. A million mixed allocations age the arena first; the
// same number is then timed, each call by itself, lock included. Sizes are drawn log-uniformly
// from 4 KiB to 8 MiB: single KV blocks up to a swapped-out sequence. Threads do nothing else,
// so with more than one the lock is contended all the time: the worst an engine could do.
//
// Latencies contain one timer read, whose own cost is reported next to them.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.hpp"
#include "lending/suballocator.hpp"
#include "report/report_file.hpp"

namespace {

using aqua::lending::Allocation;
using aqua::lending::Suballocator;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kSlabBytes = std::size_t{64} << 20;
constexpr double kFullness = 0.9;

struct Options {
  std::size_t allocations = 1'000'000;  // to age, and again to time
  std::size_t slabs = 256;              // of 64 MiB
  std::vector<unsigned> threads{1, 4};
  std::string json;
};

struct Samples {
  std::vector<std::uint32_t> allocate_ns;
  std::vector<std::uint32_t> free_ns;
  std::size_t refused = 0;  // allocations that found no block
};

std::uint32_t since(Clock::time_point start) {
  const auto ns = std::chrono::nanoseconds(Clock::now() - start).count();
  return static_cast<std::uint32_t>(std::min<std::int64_t>(ns, UINT32_MAX));
}

class Arena {
 public:
  explicit Arena(std::size_t slabs) : blocks_(Suballocator::create(slabs * kSlabBytes).value()) {
    for (std::size_t i = 0; i < slabs; ++i) {
      if (!blocks_.add_region(i * kSlabBytes, kSlabBytes).ok()) std::abort();
    }
  }
  [[nodiscard]] aqua::Result<Allocation> allocate(std::size_t bytes) {
    const aqua::MutexLock lock(mu_);
    return blocks_.allocate(bytes);
  }
  [[nodiscard]] bool free(const Allocation& allocation) {
    const aqua::MutexLock lock(mu_);
    return blocks_.free(allocation).ok();
  }
  [[nodiscard]] aqua::lending::SuballocatorStats stats() const {
    const aqua::MutexLock lock(mu_);
    return blocks_.stats();
  }

 private:
  mutable aqua::Mutex mu_;
  Suballocator blocks_ AQUA_GUARDED_BY(mu_);
};

// One engine thread: keeps its share of the arena full by freeing at random once above it.
class Worker {
 public:
  Worker(Arena& arena, std::size_t share_bytes, unsigned seed)
      : arena_(arena), share_bytes_(share_bytes), rng_(seed) {}

  void run(std::size_t allocations) {
    samples_ = {};
    samples_.allocate_ns.reserve(allocations);
    samples_.free_ns.reserve(allocations + 16);
    while (samples_.allocate_ns.size() < allocations) {
      while (held_bytes_ > share_bytes_) free_one();
      const auto bytes = static_cast<std::size_t>(std::exp2(12.0 + 11.0 * uniform_(rng_)));
      const auto start = Clock::now();
      auto got = arena_.allocate(bytes);
      const std::uint32_t ns = since(start);
      if (!got.ok()) {
        ++samples_.refused;
        free_one();
        continue;
      }
      samples_.allocate_ns.push_back(ns);
      held_.push_back(*got);
      held_bytes_ += got->bytes;
    }
  }
  void drain() {
    while (!held_.empty()) free_one();
  }
  [[nodiscard]] const Samples& samples() const { return samples_; }

 private:
  void free_one() {
    if (held_.empty()) return;
    const std::size_t victim = rng_() % held_.size();
    const Allocation allocation = held_[victim];
    held_[victim] = held_.back();
    held_.pop_back();
    held_bytes_ -= allocation.bytes;
    const auto start = Clock::now();
    const bool ok = arena_.free(allocation);
    samples_.free_ns.push_back(since(start));
    if (!ok) std::abort();
  }

  Arena& arena_;
  std::size_t share_bytes_;
  std::mt19937_64 rng_;
  std::uniform_real_distribution<double> uniform_{0.0, 1.0};
  std::vector<Allocation> held_;
  std::size_t held_bytes_ = 0;
  Samples samples_;
};

nlohmann::json summary(std::vector<std::uint32_t> ns) {
  std::sort(ns.begin(), ns.end());
  const auto at = [&](double q) {  // nearest rank
    const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(ns.size())));
    return ns.empty() ? 0 : ns[std::max<std::size_t>(rank, 1) - 1];
  };
  return {{"samples", ns.size()}, {"median_ns", at(0.5)}, {"p90_ns", at(0.9)},
          {"p99_ns", at(0.99)},   {"p999_ns", at(0.999)}, {"max_ns", at(1.0)}};
}

void run_all(std::vector<Worker>& workers, std::size_t allocations) {
  std::vector<std::thread> threads;
  for (Worker& worker : workers) {
    threads.emplace_back([&worker, n = allocations / workers.size()] { worker.run(n); });
  }
  for (std::thread& thread : threads) thread.join();
}

nlohmann::json measure(const Options& options, unsigned threads) {
  Arena arena(options.slabs);
  const std::size_t capacity = options.slabs * kSlabBytes;
  std::vector<Worker> workers;
  for (unsigned i = 0; i < threads; ++i) {
    workers.emplace_back(
        arena, static_cast<std::size_t>(kFullness * static_cast<double>(capacity)) / threads,
        i + 1);
  }
  run_all(workers, options.allocations);  // age
  run_all(workers, options.allocations);  // time
  const auto stats = arena.stats();
  Samples all;
  for (Worker& worker : workers) {
    const Samples& s = worker.samples();
    all.allocate_ns.insert(all.allocate_ns.end(), s.allocate_ns.begin(), s.allocate_ns.end());
    all.free_ns.insert(all.free_ns.end(), s.free_ns.begin(), s.free_ns.end());
    all.refused += s.refused;
  }
  for (Worker& worker : workers) worker.drain();
  const auto empty = arena.stats();
  if (empty.free_bytes != capacity || empty.free_blocks != 1) std::abort();  // bytes went astray
  return {{"threads", threads},
          {"allocate", summary(std::move(all.allocate_ns))},
          {"free", summary(std::move(all.free_ns))},
          {"refused", all.refused},
          {"live_allocations", stats.allocations},
          {"fullness", static_cast<double>(stats.allocated_bytes) / static_cast<double>(capacity)},
          {"free_blocks", stats.free_blocks},
          {"free_bytes", stats.free_bytes},
          {"largest_free_bytes", stats.largest_free_bytes},
          {"external_fragmentation", stats.external_fragmentation()}};
}

nlohmann::json timer_overhead() {
  std::vector<std::uint32_t> ns(100'000);
  for (std::uint32_t& sample : ns) sample = since(Clock::now());
  return summary(std::move(ns));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"What allocating inside leased slabs costs."};
  app.option_defaults()->always_capture_default();
  app.add_option("--allocations", options.allocations, "to age the slabs, and again to time")
      ->check(CLI::Range(1, 100'000'000));
  app.add_option("--slabs", options.slabs, "of 64 MiB")->check(CLI::Range(1, 4096));
  app.add_option("--threads", options.threads, "may be given several times")
      ->check(CLI::Range(1, 256));
  app.add_option("--json", options.json, "write the report");
  CLI11_PARSE(app, argc, argv);
  nlohmann::json report = {{"benchmark", "alloc"},
                           {"cores", ::sysconf(_SC_NPROCESSORS_ONLN)},
                           {"slabs", options.slabs},
                           {"slab_bytes", kSlabBytes},
                           {"sizes", "log-uniform, 4 KiB to 8 MiB"},
                           {"aged_by_allocations", options.allocations},
                           {"timer", timer_overhead()},
                           {"runs", nlohmann::json::array()}};
  std::printf("timer: median %u ns, p99 %u ns; %zu slabs of 64 MiB; %ld cores\n",
              report["timer"]["median_ns"].get<unsigned>(),
              report["timer"]["p99_ns"].get<unsigned>(), options.slabs,
              report["cores"].get<long>());
  for (const unsigned threads : options.threads) {
    report["runs"].push_back(measure(options, threads));
    const auto& run = report["runs"].back();
    for (const char* operation : {"allocate", "free"}) {
      const auto& s = run[operation];
      std::printf(
          "%u thread%s %-8s  median %u ns  p99 %u ns  p99.9 %u ns  max %u ns  (%zu samples)\n",
          threads, threads == 1 ? " " : "s", operation, s["median_ns"].get<unsigned>(),
          s["p99_ns"].get<unsigned>(), s["p999_ns"].get<unsigned>(), s["max_ns"].get<unsigned>(),
          s["samples"].get<std::size_t>());
    }
    std::printf(
        "          %.1f %% full, %zu allocations, %zu free blocks, fragmentation %.3f, "
        "%zu refused\n",
        100 * run["fullness"].get<double>(), run["live_allocations"].get<std::size_t>(),
        run["free_blocks"].get<std::size_t>(), run["external_fragmentation"].get<double>(),
        run["refused"].get<std::size_t>());
  }
  aqua::bench::write_report(options.json, report);
  return 0;
}
