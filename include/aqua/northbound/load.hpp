// SPDX-License-Identifier: Apache-2.0
// Northbound: what a serving engine and libaqua tell each other. Header only; an engine may
// include it without linking the library.
//
// The engine fills a LoadReport every second or so and is answered with a MemoryBudget when
// its share of memory changes. A profiler run ahead of time fills the LoadProfile.
//
// Units: bytes; durations are std::chrono.
#pragma once

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "aqua/result.hpp"

namespace aqua {

// Latency as its users feel it; zero where not measured. For people and dashboards: no
// decision of ours depends on it.
struct Latency {
  std::chrono::microseconds p50{0};
  std::chrono::microseconds p99{0};
  friend bool operator==(const Latency&, const Latency&) = default;
};

struct LoadReport {
  // Requests that arrived per second, a mean over some ten seconds: at five requests a second
  // and over one second, chance alone doubles it twice a minute.
  double requests_per_second = 0;
  // Requests waiting to be scheduled, now. The first number to move when load rises.
  double queue_length = 0;
  // KV cache on the device now.
  std::size_t kv_bytes_used = 0;
  // What it would be if memory were no limit: what is used, plus what is swapped out, preempted
  // or waits for memory. At least kv_bytes_used.
  std::size_t kv_bytes_wanted = 0;
  Latency time_to_first_token{};
  Latency time_per_output_token{};
  friend bool operator==(const LoadReport&, const LoadReport&) = default;
};

// What the profiler found for one model on one device at its stable request rate.
struct LoadProfile {
  double steady_requests_per_second = 0;
  double steady_queue_length = 0;
  // All KV memory of the engine when none is lent.
  std::size_t kv_bytes_total = 0;
  // The part of it that is never used in the steady state: the most that is ever lent.
  std::size_t steady_free_bytes = 0;
  // A device with less free than this is no producer. The paper's value: 10 GB.
  std::size_t producer_threshold_bytes = 10'000'000'000;
  friend bool operator==(const LoadProfile&, const LoadProfile&) = default;
};

enum class BudgetReason : std::uint8_t {
  opened,     // the first budget of this runtime
  wanted,     // the engine frees memory until it uses at most engine_bytes, then calls lend()
  offered,    // part of the engine's memory was put up for lending
  reclaimed,  // lent memory came back, all or a slab of it
  granted,    // a neighbour's memory was leased to us
  revoked,    // a neighbour took its memory back; our bytes moved on, none was lost
  lost,       // memory of ours or a neighbour's died; its tensors report data_loss
};

[[nodiscard]] constexpr std::string_view to_string(BudgetReason reason) noexcept {
  switch (reason) {
    case BudgetReason::opened:
      return "opened";
    case BudgetReason::wanted:
      return "wanted";
    case BudgetReason::offered:
      return "offered";
    case BudgetReason::reclaimed:
      return "reclaimed";
    case BudgetReason::granted:
      return "granted";
    case BudgetReason::revoked:
      return "revoked";
    case BudgetReason::lost:
      return "lost";
  }
  return "lost";
}

// What the engine has after the event named by `reason`.
struct MemoryBudget {
  // What the engine may use of its own device from now on. With a profile the profile's
  // kv_bytes_total, else all of the device but shared_bytes; less what is lent or about to be.
  std::size_t engine_bytes = 0;
  std::size_t lent_bytes = 0;  // of its own device: put up for lending, held by others or not
  std::size_t peer_bytes = 0;  // neighbours' memory leased to us
  std::size_t host_bytes = 0;  // this server's DRAM that we may use
  BudgetReason reason = BudgetReason::opened;
  // Weights and KV pools of its own device that are mapped here, each mapping counted, and that
  // others may have mapped as well. Mapping them is no event of its own.
  std::size_t shared_bytes = 0;
  friend bool operator==(const MemoryBudget&, const MemoryBudget&) = default;
};

// invalid_argument, naming the field, when a report cannot be true: a rate or queue that is
// negative, infinite or not a number; a negative latency; less wanted than used.
[[nodiscard]] inline Result<void> validate(const LoadReport& report) {
  const auto wrong = [](std::string_view what) {
    return Error{Code::invalid_argument, "load report: " + std::string(what)};
  };
  const auto count = [](double x) { return std::isfinite(x) && x >= 0; };
  const auto latency = [](const Latency& l) { return l.p50.count() >= 0 && l.p99 >= l.p50; };
  if (!count(report.requests_per_second)) {
    return wrong("requests_per_second is " + std::to_string(report.requests_per_second));
  }
  if (!count(report.queue_length)) {
    return wrong("queue_length is " + std::to_string(report.queue_length));
  }
  if (report.kv_bytes_wanted < report.kv_bytes_used) {
    return wrong("kv_bytes_wanted " + std::to_string(report.kv_bytes_wanted) +
                 " is less than kv_bytes_used " + std::to_string(report.kv_bytes_used));
  }
  if (!latency(report.time_to_first_token)) return wrong("time_to_first_token is not p50 <= p99");
  if (!latency(report.time_per_output_token)) {
    return wrong("time_per_output_token is not p50 <= p99");
  }
  return {};
}

}  // namespace aqua
