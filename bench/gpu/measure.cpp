#include "gpu/measure.hpp"

#include <cstdio>
#include <cstdlib>

#include "samples.hpp"

namespace aqua::bench {
namespace {

constexpr std::uint64_t kPatience = 2'000'000'000;  // nanoseconds
constexpr std::size_t kQueueDepth = 900;            // commands that surely fit a stream's queue
constexpr std::uint64_t kClearSeed = 99;

}  // namespace

Gate::Gate() : memory_(Where::host, sizeof(GateFlags)) {}

void Gate::close(cudaStream_t stream) {
  flags().open = 0;
  flags().gave_up = 0;
  must(hold(&flags(), kPatience, stream));
}

void Gate::open() {
  flags().open = 1;
}

std::vector<Samples> Meter::compare(const std::vector<Way>& ways) {
  std::vector<Samples> all;
  for (const Way& way : ways) {
    double bytes = 0;
    for (const BlockList* list : way.moves) bytes += static_cast<double>(list->bytes());
    all.push_back({way.name, bytes, way.commands <= kQueueDepth, {}});
    clear(way);
    static_cast<void>(time(way, false));  // kernels are loaded while nothing waits
    verify(way);
    if (all.back().gated) all.back().gated = time(way, true) >= 0;
  }
  for (unsigned r = 0; r < repetitions_; ++r) {
    for (std::size_t w = 0; w < ways.size(); ++w) {
      clear(ways[w]);
      double seconds = time(ways[w], all[w].gated);
      if (seconds < 0) {
        all[w].gated = false;
        seconds = time(ways[w], false);
      }
      verify(ways[w]);
      all[w].seconds.push_back(seconds);
    }
  }
  return all;
}

double Meter::time(const Way& way, bool gated) {
  if (gated) gate_.close(stream_.get());
  start_.record(stream_.get());
  way.queue(stream_.get());
  stop_.record(stream_.get());
  if (gated) gate_.open();
  stream_.synchronize();
  if (gated && !gate_.held()) return -1;
  return stop_.seconds_since(start_);
}

void Meter::clear(const Way& way) {
  for (const auto area : way.cleared) {
    must(fill(area.data(), area.size(), kClearSeed, stream_.get()));
  }
  stream_.synchronize();
}

void Meter::verify(const Way& way) {
  const Buffer counter(Where::host, sizeof(unsigned long long));
  auto* words = reinterpret_cast<unsigned long long*>(counter.data());
  *words = 0;
  for (const BlockList* list : way.moves) {
    must(count_differences(list->launch().segments, list->launch().count, words, stream_.get()));
  }
  stream_.synchronize();
  if (*words == 0) return;
  std::fprintf(stderr, "gpu_bench: %s: %llu words are wrong\n", way.name.c_str(), *words);
  std::exit(1);
}

nlohmann::json rows(const std::vector<Samples>& all, const nlohmann::json& labels) {
  nlohmann::json result = nlohmann::json::array();
  for (const Samples& s : all) {
    const auto gbps = [&](double q) { return s.bytes / quantile(s.seconds, 1 - q) / 1e9; };
    nlohmann::json row = labels;
    row["way"] = s.name;
    row["bytes"] = s.bytes;
    row["gated"] = s.gated;
    row["repetitions"] = s.seconds.size();
    row["gbps_median"] = gbps(0.5);
    row["gbps_p25"] = gbps(0.25);
    row["gbps_p75"] = gbps(0.75);
    // Of rates, of those that took turns.
    const Samples& base = all.front();
    auto pairs = ratios(base.seconds, s.seconds);
    for (double& pair : pairs) pair *= s.bytes / base.bytes;
    row["baseline"] = base.name;
    row["ratio_to_baseline_median"] = median(pairs);
    row["ratio_to_baseline_p25"] = quantile(pairs, 0.25);
    row["ratio_to_baseline_p75"] = quantile(pairs, 0.75);
    row["seconds"] = s.seconds;
    std::printf("%-10s %-8s %9zu  %-22s %8.2f GB/s (%8.2f to %8.2f)  %5.3f of %s%s\n",
                labels.value("group", "").c_str(), labels.value("direction", "").c_str(),
                labels.value("block_bytes", std::size_t{0}), s.name.c_str(), gbps(0.5), gbps(0.25),
                gbps(0.75), median(pairs), base.name.c_str(), s.gated ? "" : "  (not gated)");
    result.push_back(std::move(row));
  }
  std::fflush(stdout);
  return result;
}

}  // namespace aqua::bench
