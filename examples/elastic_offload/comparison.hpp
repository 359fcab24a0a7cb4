// SPDX-License-Identifier: Apache-2.0
// Comparison serves the same requests twice, first with host memory alone and then with lent memory
// above it, and keeps what their users felt each time.
//
// Threads: one. Fleet and requests outlive it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "requests.hpp"

namespace aqua::example {

// What one serving came to.
struct Serving {
  double seconds = 0;             // from the first arrival until all are done
  std::uint64_t tokens = 0;       // generated
  std::vector<double> ttft_ms{};  // of each request, from its arrival to its first token
  TierBytes offloaded{}, fetched{};
  std::uint64_t promoted = 0, evacuated = 0;  // bytes brought up to lent memory; moved off it

  [[nodiscard]] double tokens_per_second() const;
};
// {"seconds", "tokens", "tokens_per_second", "ttft_ms": {"p50", "p99", "all"}, …}
void to_json(nlohmann::json& json, const Serving& serving);

class Comparison {
 public:
  // Compares the first `count` requests of `work`; 0: nothing is compared, and it is over at once.
  Comparison(const Workload& work, std::size_t count, Fleet& fleet, Requests& requests);

  enum class Part : std::uint8_t { host, leasing, lent, over };
  // After each word of the fleet, and once before the first: goes on when a serving is complete.
  void follow(double seconds);

  [[nodiscard]] Part part() const { return part_; }
  [[nodiscard]] std::size_t count() const { return items_.size(); }
  [[nodiscard]] std::uint64_t done() const;  // of this serving
  // Empty before it is over.
  [[nodiscard]] const std::optional<Serving>& host() const { return host_; }
  [[nodiscard]] const std::optional<Serving>& lent() const { return lent_; }

 private:
  void begin(double seconds, bool lent);
  [[nodiscard]] Serving served(double seconds) const;

  std::vector<WorkItem> items_;
  Fleet& fleet_;
  Requests& requests_;
  Part part_ = Part::host;
  bool begun_ = false;
  double began_ = 0;                   // seconds
  std::vector<ConsumerStats> before_;  // when the serving began
  std::optional<Serving> host_, lent_;
};

}  // namespace aqua::example
