// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iomanip>
#include <sstream>

#include "tools/sim/report/report.hpp"

namespace aqua::sim {
namespace {

constexpr double kSame = 1.05;  // less of a factor is no difference to speak of

struct Rank {
  double seconds = 0;
  std::string policy;
};

double slowest(const PolicyRun& run) {
  return confidence(column(run, &Metrics::ttft_p99_s)).mean;
}

}  // namespace

std::string verdict(const Comparison& comparison) {
  std::vector<Rank> ranks;
  for (const PolicyRun& run : comparison.runs) ranks.push_back({slowest(run), run.policy.name});
  // What pages at no cost is a limit, and wins nothing.
  const auto real = [](const Rank& rank) { return !rank.policy.ends_with("+free"); };
  std::ranges::stable_sort(ranks, {}, &Rank::seconds);
  std::stable_partition(ranks.begin(), ranks.end(), real);
  std::ostringstream out;
  out << std::fixed << std::setprecision(2);
  const Rank& best = ranks.front();
  if (ranks.size() == 1) {
    out << "With " << best.policy << " the slowest first tokens (p99) take " << best.seconds
        << " s.";
    return std::move(out).str();
  }
  const auto same = [&](const Rank& rank) {
    return rank.seconds <= best.seconds * kSame && best.seconds <= rank.seconds * kSame;
  };
  if (std::ranges::all_of(ranks, same)) {
    out << "The policies hardly differ: the slowest first tokens (p99) take " << best.seconds
        << " s.";
    return std::move(out).str();
  }
  out << "The slowest first tokens (p99) take " << best.seconds << " s with " << best.policy
      << ", against ";
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    if (i > 1) out << (i + 1 == ranks.size() ? " and " : ", ");
    out << ranks[i].seconds << " s with " << ranks[i].policy;
  }
  out << ".";
  return std::move(out).str();
}

}  // namespace aqua::sim
