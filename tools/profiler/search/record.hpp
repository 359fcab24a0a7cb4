// SPDX-License-Identifier: Apache-2.0
// Record holds a profile and everything it was concluded from, as its file does: enough to judge
// the profile, to draw it, and to resume a run that was stopped. Threads: plain values and
// functions.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/northbound/profile.hpp"
#include "tools/profiler/load/verdict.hpp"

namespace aqua::profiler {

// A load at one rate. Seconds are the engine's.
struct Probe {
  double rate = 0;
  std::uint64_t seed = 0;
  bool met = false;
  bool whole = false;        // played to its end although the SLA was met: its memory is complete
  std::size_t requests = 0;  // planned
  std::size_t answered = 0;  // had a first token before the outcome was clear
  std::size_t failures = 0;
  std::size_t memory_faults = 0;  // readings of the engine's memory that failed
  Quantiles quantiles{};
  double peak_bytes = 0;    // of KV, as the engine told
  double client_bytes = 0;  // the same, as the client counts it; 0: bytes of a token not known
  double pool_bytes = 0;
  double queue_length = 0;
  double seconds = 0;
  double lateness_s = 0;
};

// A burst of `factor` times the stable rate.
struct Burst {
  double factor = 0;
  double rate = 0;
  double wanted_bytes = 0;
  double swap_bytes = 0;
};

// A batch of an image or audio model.
struct Batch {
  std::size_t batch = 0;
  double throughput = 0;  // items a second
  double peak_bytes = 0;
  double pool_bytes = 0;
  std::size_t memory_faults = 0;  // as above
};

struct Evidence {
  std::string engine{};  // its URL
  std::string model{};
  std::string memory{};                           // where its figures of memory come from
  std::map<std::string, std::string> settings{};  // a run goes on only with the same
  std::vector<Probe> probes{};
  std::vector<Burst> bursts{};
  std::vector<Batch> batches{};
  double prefix_swap_bytes = 0;
  double long_prompt_swap_bytes = 0;
  std::map<std::string, std::string> warnings{};  // by what they are about
  std::string reason{};                           // why it ended before its time; empty: it did not

  // True when there is anything to keep.
  [[nodiscard]] bool measured() const {
    return !probes.empty() || !bursts.empty() || !batches.empty();
  }
};

struct Record {
  Profile profile{};
  Evidence evidence{};
};

// Replaces the earlier warning about the same subject. An empty text removes it.
void warn(Evidence& evidence, const std::string& about, std::string text);

[[nodiscard]] std::string render_record(const Record& record);
// invalid_argument names the field.
[[nodiscard]] Result<Record> parse_record(std::string_view text);

// Compares rates or factors, which may differ by rounding between a sum and a product.
[[nodiscard]] inline bool same_rate(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(a));
}

// Sets role and bytes from the evidence and profile.max_rps (or the batches), leaving `complete`.
// Memory is taken from whole probes that met the SLA at that rate; without one nothing is free.
// The larger of the engine's and the client's figures counts. Notes a warning where the engine told
// less than half of what the client knows to be there, and where readings failed. Among batches the
// one that BatchSearch takes counts.
void conclude(Record& record);

}  // namespace aqua::profiler
