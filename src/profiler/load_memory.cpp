#include "profiler/load_memory.hpp"

#include <algorithm>

namespace aqua::profiler {
namespace {

double held(const Trip& trip, double now) {
  const double length = trip.end_s - trip.first_s;
  const double share = length > 0 ? (now - trip.first_s) / length : 1;
  return static_cast<double>(trip.prompt_tokens) + share * static_cast<double>(trip.output_tokens);
}

bool answered(const Trip& trip) {
  return trip.first_s >= 0 && trip.end_s >= trip.first_s;
}

// What is held only grows until somebody's last token: the peak is just before one.
void look_at(double now, const std::vector<Trip>& trips, LoadTokens& tokens) {
  double served = 0, waiting = 0;
  for (const Trip& trip : trips) {
    if (!answered(trip) || trip.at_s > now || trip.end_s < now) continue;
    if (trip.first_s <= now) {
      served += held(trip, now);
    } else {
      waiting += static_cast<double>(trip.prompt_tokens);
    }
  }
  tokens.peak_served = std::max(tokens.peak_served, served);
  tokens.peak_wanted = std::max(tokens.peak_wanted, served + waiting);
}

}  // namespace

LoadTokens load_tokens(const std::vector<Trip>& trips) {
  LoadTokens tokens;
  double waited = 0, last = 0;
  for (const Trip& trip : trips) {
    if (!answered(trip)) continue;
    look_at(trip.end_s, trips, tokens);
    waited += std::max(0.0, trip.first_s - trip.at_s);
    last = std::max(last, trip.end_s);
  }
  if (last > 0) tokens.mean_waiting = waited / last;
  return tokens;
}

}  // namespace aqua::profiler
