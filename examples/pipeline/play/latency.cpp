// SPDX-License-Identifier: Apache-2.0
#include "play/latency.hpp"

namespace aqua::pipeline {

double mean_latency(const Latencies& all) {
  double sum = 0;
  for (const auto& [sequence, seconds] : all) sum += seconds;
  return all.empty() ? 0 : sum / static_cast<double>(all.size());
}

std::optional<double> mean_latency(const Latencies& all, const std::set<Word>& sequences) {
  Latencies named;
  for (const Word sequence : sequences) {
    const auto found = all.find(sequence);
    if (found == all.end()) return {};
    named.insert(*found);
  }
  if (named.empty()) return {};
  return mean_latency(named);
}

}  // namespace aqua::pipeline
