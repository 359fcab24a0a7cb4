// SPDX-License-Identifier: Apache-2.0
// MemoryWatch: asks the engine for its KV memory again and again while a load runs.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/mutex.hpp"
#include "tools/profiler/load/engine_link.hpp"
#include "tools/profiler/memory/memory_reading.hpp"

namespace aqua::profiler {

// Asks the engine once. Of MemorySource::client nothing is asked: 0 of kv_bytes are used.
[[nodiscard]] Result<MemoryReading> read_memory(const EngineLink& engine,
                                                const MemoryOptions& options);
// What `automatic` stands for with this engine: vllm, aqua or llama where it answers like these,
// else client. Other sources are themselves.
[[nodiscard]] MemorySource detect_memory(const EngineLink& engine, const MemoryOptions& options);

struct MemoryPeak {
  double used_bytes = 0;
  double total_bytes = 0;
  std::size_t readings = 0, faults = 0;
  std::string fault{};        // the first
  Clock::duration watched{};  // so far
  Clock::duration unseen{};   // of it, the longest without a reading that went well
};

// Whether a load's peak was seen. data_loss, with the first fault, when more readings failed than
// went well, or there was none for a quarter of the load (and a second).
[[nodiscard]] Result<void> believable(const MemoryPeak& peak);

class MemoryWatch {
 public:
  // Reads at once and then at each `interval`, on a thread of its own, until it is destroyed or
  // the stop token in engine.http asks for it; either ends a reading under way.
  MemoryWatch(const EngineLink& engine, const MemoryOptions& options,
              std::chrono::milliseconds interval);
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  // Waits for the first answer, however short the load was.
  [[nodiscard]] MemoryPeak peak() AQUA_EXCLUDES(mu_);

 private:
  void watch() AQUA_EXCLUDES(mu_);
  void note(const Result<MemoryReading>& reading) AQUA_EXCLUDES(mu_);
  void end() AQUA_EXCLUDES(mu_);

  std::stop_source over_;
  const EngineLink engine_;  // with a stop of its own
  const MemoryOptions options_;
  const std::chrono::milliseconds interval_;
  Mutex mu_;
  CondVar ends_;
  CondVar asked_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point seen_ AQUA_GUARDED_BY(mu_) = start_;  // when a reading last went well
  bool any_ AQUA_GUARDED_BY(mu_) = false;                 // it has answered, well or not
  MemoryPeak peak_ AQUA_GUARDED_BY(mu_);
  std::thread thread_;
  const std::stop_callback<std::function<void()>> stopped_;
};

}  // namespace aqua::profiler
