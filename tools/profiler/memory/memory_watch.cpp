// SPDX-License-Identifier: Apache-2.0
#include "tools/profiler/memory/memory_watch.hpp"

#include <algorithm>

#include "aqua/northbound/load_metrics.hpp"
#include "base/try.hpp"
#include "tools/http/metrics_text.hpp"
#include "tools/http/start_thread.hpp"

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
    case MemorySource::aqua: {
      AQUA_ASSIGN(const std::string metrics, fetch(engine, "/metrics"));
      return read_load_reports(metrics, options);
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
  if (metrics.ok() && !http::find_metric(*metrics, kMetricKvUsed).empty())
    return MemorySource::aqua;
  const auto slots = fetch(engine, "/slots");
  return slots.ok() ? MemorySource::llama : MemorySource::client;
}

Result<void> believable(const MemoryPeak& peak) {
  constexpr Clock::duration kShort = std::chrono::seconds(1);
  const bool often = peak.readings > 0 && peak.readings >= peak.faults;
  if (often && peak.unseen <= std::max(peak.watched / 4, kShort)) return {};
  const std::chrono::duration<double> unseen = peak.unseen, watched = peak.watched;
  return Error{
      Code::data_loss,
      concat("the engine's memory is not known under load: ", peak.readings,
             " readings went well, ", peak.faults, " failed, there was none for ", unseen.count(),
             " of ", watched.count(), " s", peak.fault.empty() ? "" : ": ", peak.fault)};
}

namespace {

EngineLink stopped_by(EngineLink engine, std::stop_token stop) {
  engine.http.stop = std::move(stop);
  return engine;
}

}  // namespace

MemoryWatch::MemoryWatch(const EngineLink& engine, const MemoryOptions& options,
                         std::chrono::milliseconds interval)
    : engine_(stopped_by(engine, over_.get_token())),
      options_(options),
      interval_(interval),
      stopped_(engine.http.stop, [this] { end(); }) {
  auto thread = http::start_thread([this] { watch(); });
  if (thread.ok()) {
    thread_ = std::move(thread).value();
  } else {
    note(thread.error());
  }
}

MemoryWatch::~MemoryWatch() {
  end();
  if (thread_.joinable()) thread_.join();
}

void MemoryWatch::end() {
  over_.request_stop();
  const MutexLock lock(mu_);
  ends_.notify_all();
}

void MemoryWatch::note(const Result<MemoryReading>& reading) {
  const MutexLock lock(mu_);
  if (reading.ok()) {
    ++peak_.readings;
    peak_.unseen = std::max(peak_.unseen, Clock::now() - seen_);
    seen_ = Clock::now();
    peak_.used_bytes = std::max(peak_.used_bytes, reading->used_bytes);
    peak_.total_bytes = std::max(peak_.total_bytes, reading->total_bytes);
  } else if (++peak_.faults == 1) {
    peak_.fault = reading.error().message;
  }
  any_ = true;
  asked_.notify_all();
}

// Once at least, since peak() waits for that; where it is over by then, it says so at once.
void MemoryWatch::watch() {
  for (Clock::time_point next = Clock::now();;) {
    note(read_memory(engine_, options_));
    next = std::max(next + interval_, Clock::now());
    const MutexLock lock(mu_);
    while (!over_.stop_requested() && ends_.wait_until(mu_, next)) {
    }
    if (over_.stop_requested()) return;
  }
}

MemoryPeak MemoryWatch::peak() {
  const MutexLock lock(mu_);
  while (!any_) asked_.wait(mu_);
  MemoryPeak peak = peak_;
  peak.watched = Clock::now() - start_;
  peak.unseen = std::max(peak.unseen, Clock::now() - seen_);
  return peak;
}

}  // namespace aqua::profiler
