#include "profiler/memory_watch.hpp"

#include <algorithm>

#include "base/try.hpp"

namespace aqua::profiler {

Result<MemoryReading> read_memory(const EngineLink& engine, const MemoryOptions& options) {
  switch (options.source) {
    case MemorySource::vllm: {
      AQUA_ASSIGN(const std::string metrics, fetch(engine, "/metrics"));
      return read_vllm(metrics, options);
    }
    case MemorySource::llama: {
      AQUA_ASSIGN(const std::string props, fetch(engine, "/props"));
      AQUA_ASSIGN(const std::string slots, fetch(engine, "/slots"));
      return read_llama(props, slots, options);
    }
    case MemorySource::prometheus: {
      AQUA_ASSIGN(const std::string metrics, fetch(engine, "/metrics"));
      return read_prometheus(metrics, options);
    }
    default:
      if (options.kv_bytes > 0) return MemoryReading{0, options.kv_bytes};
      return Error{Code::failed_precondition,
                   "this engine tells nothing of its KV memory: give --kv-bytes"};
  }
}

MemorySource detect_memory(const EngineLink& engine, const MemoryOptions& options) {
  if (options.source != MemorySource::automatic) return options.source;
  const auto metrics = fetch(engine, "/metrics");
  if (metrics.ok() && metrics->find("vllm:cache_config_info") != std::string::npos)
    return MemorySource::vllm;
  const auto slots = fetch(engine, "/slots");
  return slots.ok() ? MemorySource::llama : MemorySource::client;
}

MemoryWatch::MemoryWatch(const EngineLink& engine, const MemoryOptions& options,
                         std::chrono::milliseconds interval)
    : engine_(engine), options_(options), interval_(interval), thread_([this] { watch(); }) {}

MemoryWatch::~MemoryWatch() {
  {
    const MutexLock lock(mu_);
    over_ = true;
    ends_.notify_all();
  }
  thread_.join();
}

void MemoryWatch::watch() {
  for (Clock::time_point next = Clock::now();; next = std::max(next, Clock::now()) + interval_) {
    const auto reading = read_memory(engine_, options_);
    const MutexLock lock(mu_);
    if (reading.ok()) {
      ++peak_.readings;
      peak_.used_bytes = std::max(peak_.used_bytes, reading->used_bytes);
      peak_.total_bytes = std::max(peak_.total_bytes, reading->total_bytes);
    } else if (peak_.fault.empty()) {
      peak_.fault = reading.error().message;
    }
    any_ = true;
    asked_.notify_all();
    while (!over_ && ends_.wait_until(mu_, next + interval_)) {
    }
    if (over_) return;
  }
}

MemoryPeak MemoryWatch::peak() {
  const MutexLock lock(mu_);
  while (!any_) asked_.wait(mu_);
  return peak_;
}

}  // namespace aqua::profiler
