// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>
#include <memory>

#include "gpu/groups.hpp"
#include "gpu/slab_churn.hpp"
#include "samples.hpp"

namespace aqua::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kLaunches = 20'000;

double microseconds(Clock::duration d) {
  return std::chrono::duration<double, std::micro>(d).count();
}

nlohmann::json measure(const char* name, const SlabChurn* churn) {
  const Stream stream;
  for (int i = 0; i < 100; ++i) must(launch_empty(stream.get()));
  stream.synchronize();
  std::vector<double> launch;
  std::vector<double> round_trip;
  const std::uint64_t rounds = churn != nullptr ? churn->rounds() : 0;
  const auto begin = Clock::now();
  for (int i = 0; i < kLaunches; ++i) {
    const auto start = Clock::now();
    must(launch_empty(stream.get()));
    const auto launched = Clock::now();
    stream.synchronize();
    launch.push_back(microseconds(launched - start));
    round_trip.push_back(microseconds(Clock::now() - start));
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const double rate =
      churn != nullptr ? static_cast<double>(churn->rounds() - rounds) / seconds : 0;
  const auto summary = [](const std::vector<double>& us) {
    return nlohmann::json{{"median_us", median(us)},
                          {"p99_us", quantile(us, 0.99)},
                          {"p999_us", quantile(us, 0.999)},
                          {"max_us", quantile(us, 1)}};
  };
  std::printf(
      "launches   %-10s %8.0f slabs/s  launch p50 %.1f p99 %.1f us, round trip p50 %.1f p99 "
      "%.1f us\n",
      name, rate, median(launch), quantile(launch, 0.99), median(round_trip),
      quantile(round_trip, 0.99));
  return {{"group", "launches"},       {"churn", name},
          {"slabs_per_second", rate},  {"samples", kLaunches},
          {"launch", summary(launch)}, {"round_trip", summary(round_trip)}};
}

}  // namespace

void measure_launches(const Sink& sink) {
  sink(nlohmann::json::array({measure("none", nullptr)}));
  for (const auto& [name, interval] :
       {std::pair{"unthrottled", std::chrono::microseconds{0}},
        std::pair{"every 1 ms", std::chrono::microseconds{1000}},
        std::pair{"every 10 ms", std::chrono::microseconds{10'000}}}) {
    const SlabChurn churn(interval);
    sink(nlohmann::json::array({measure(name, &churn)}));
  }
}

}  // namespace aqua::bench
