// SPDX-License-Identifier: Apache-2.0
#include "tools/profiler/load/load_memory.hpp"

#include <algorithm>

namespace aqua::profiler {
namespace {

bool answered(const Trip& trip) {
  return trip.first_s >= 0 && trip.end_s >= trip.first_s;
}

using Order = std::vector<const Trip*>;

Order by(Order trips, double Trip::*time) {
  std::sort(trips.begin(), trips.end(),
            [time](const Trip* a, const Trip* b) { return a->*time < b->*time; });
  return trips;
}

// Tokens held by those in the middle of their answers: each has its prompt, and gains evenly.
class Held {
 public:
  void begin(const Trip& trip) { add(trip, 1); }
  void end(const Trip& trip) { add(trip, -1); }
  [[nodiscard]] double at(double now) const { return fixed_ + speed_ * now - behind_; }

 private:
  void add(const Trip& trip, double sign) {
    fixed_ += sign * static_cast<double>(trip.prompt_tokens);
    const auto output = static_cast<double>(trip.output_tokens);
    const double length = trip.end_s - trip.first_s;
    if (length <= 0) {
      fixed_ += sign * output;
      return;
    }
    speed_ += sign * output / length;
    behind_ += sign * output / length * trip.first_s;
  }

  double fixed_ = 0, speed_ = 0, behind_ = 0;
};

}  // namespace

// What is held only grows until somebody's last token: the peak is just before one. So the ends are
// looked at in their order, after all that has begun until then.
LoadTokens load_tokens(const std::vector<Trip>& trips) {
  LoadTokens tokens;
  Order ends;
  double waited = 0;
  for (const Trip& trip : trips) {
    if (!answered(trip)) continue;
    ends.push_back(&trip);
    waited += std::max(0.0, trip.first_s - trip.at_s);
  }
  if (ends.empty()) return tokens;
  const Order arrivals = by(ends, &Trip::at_s), firsts = by(ends, &Trip::first_s);
  ends = by(std::move(ends), &Trip::end_s);
  Held held;
  double waiting = 0;
  auto arrival = arrivals.begin(), first = firsts.begin();
  for (auto end = ends.begin(); end != ends.end();) {
    const double now = (*end)->end_s;
    for (; arrival != arrivals.end() && (*arrival)->at_s <= now; ++arrival)
      waiting += static_cast<double>((*arrival)->prompt_tokens);
    for (; first != firsts.end() && (*first)->first_s <= now; ++first) {
      waiting -= static_cast<double>((*first)->prompt_tokens);
      held.begin(**first);
    }
    tokens.peak_served = std::max(tokens.peak_served, held.at(now));
    tokens.peak_wanted = std::max(tokens.peak_wanted, held.at(now) + waiting);
    for (; end != ends.end() && (*end)->end_s == now; ++end) held.end(**end);
  }
  const double last = ends.back()->end_s;
  if (last > 0) tokens.mean_waiting = waited / last;
  return tokens;
}

}  // namespace aqua::profiler
