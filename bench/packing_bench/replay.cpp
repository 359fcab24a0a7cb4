// SPDX-License-Identifier: Apache-2.0
#include "packing_bench/replay.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>

#include "aqua/packing/packer.hpp"
#include "must.hpp"

namespace aqua::bench {
namespace {

using namespace packing;

constexpr std::uint64_t kTokensPerSecond = 25;

struct Live {
  std::uint64_t tokens = 0, left = 0;
};

struct Sample {
  std::uint64_t engines = 0, bound = 0, held = 0;
};

}  // namespace

std::vector<TraceRequest> azure_conversations() {
  std::vector<TraceRequest> trace;
  const char* folder = std::getenv("AQUA_DATA");
  if (folder == nullptr) return trace;
  std::ifstream file(std::string(folder) + "/traces/azure_llm_inference_conv_2023.csv");
  std::string line;
  std::getline(file, line);  // its head
  while (std::getline(file, line)) {
    int hours = 0, minutes = 0;
    double seconds = 0;
    unsigned prompt = 0, output = 0;
    if (std::sscanf(line.c_str(), "%*d-%*d-%*d %d:%d:%lf,%u,%u", &hours, &minutes, &seconds,
                    &prompt, &output) != 5) {
      continue;
    }
    trace.push_back({3600.0 * hours + 60.0 * minutes + seconds, prompt, output});
  }
  const double begin = trace.empty() ? 0 : trace.front().second;
  for (TraceRequest& request : trace) request.second -= begin;
  return trace;
}

std::vector<TraceRequest> poisson(const std::vector<TraceRequest>& lengths, double rate,
                                  double seconds, std::uint64_t outputs, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> gap(rate);
  std::vector<TraceRequest> trace;
  for (double now = gap(random); now < seconds; now += gap(random)) {
    TraceRequest request = lengths[random() % lengths.size()];
    request.second = now;
    request.output *= outputs;
    trace.push_back(request);
  }
  return trace;
}

std::vector<PackingLoad> packing_loads() {
  const std::vector<TraceRequest> azure = azure_conversations();
  if (azure.empty()) return {};
  std::vector<TraceRequest> faster = azure;
  for (TraceRequest& request : faster) request.second /= 4;
  std::vector<PackingLoad> all{{"Azure", azure}, {"Azure, 4 times faster", faster}};
  for (const double rate : {0.5, 0.8, 1.1}) {
    char name[32];
    std::snprintf(name, sizeof name, "outputs x 10, %.1f/s", rate);
    all.push_back({name, poisson(azure, rate, 2400, 10, 1)});
  }
  return all;
}

Replayed replay(const std::string& policy, const std::vector<TraceRequest>& trace,
                const PackerOptions& options, const ReplayAs& as) {
  auto packer = must(make_packer(policy, options));
  const std::uint64_t capacity = as.capacity;
  for (std::uint64_t id = 1; id <= 400; ++id) {
    must(packer->join({.id = EngineId{id}, .kv_tokens = capacity}));
  }
  const auto plan = [&]() -> Certificate {
    const Plan& is = packer->epoch();
    for (const Move& move : is.moves) must(packer->moved(move.request, is.number));
    return is.certificate;
  };
  const auto after_event = [&] {
    if (as.event_by_event) (void)plan();
  };
  std::map<RequestId, Live> live;
  std::vector<Sample> samples;
  Replayed sum;
  std::uint64_t requests = 0;
  double now = 0;
  for (std::size_t next = 0; next < trace.size() || !live.empty(); now += 1) {
    for (; next < trace.size() && trace[next].second < now; ++next) {
      const TraceRequest& is = trace[next];
      if (is.prompt + is.output > capacity - capacity / 10 || is.prompt == 0) continue;
      const RequestId id{++requests};
      must(packer->arrive({.id = id, .tokens = is.prompt, .max_new = is.output}));
      live[id] = {is.prompt, is.output};
      after_event();
    }
    for (auto each = live.begin(); each != live.end();) {
      auto& [id, is] = *each;
      if (is.left == 0) {
        must(packer->ended(id));
        each = live.erase(each);
        after_event();
        continue;
      }
      const std::uint64_t more = std::min(is.left, kTokensPerSecond);
      is.left -= more;
      is.tokens += more;
      must(packer->grew(id, is.tokens));
      after_event();
      ++each;
    }
    const Certificate certificate = plan();
    sum.epochs += 1;
    sum.certified += certificate.within || certificate.properties;
    samples.push_back({certificate.engines, certificate.bound, packer->status().held_tokens});
  }
  for (const Sample& sample : samples) sum.peak = std::max(sum.peak, sample.engines);
  const auto last = static_cast<std::size_t>(trace.back().second);
  double counted = 0;
  for (std::size_t i = last / 10; i < last && i < samples.size(); ++i) {
    const Sample& sample = samples[i];
    if (sample.engines == 0) continue;
    counted += 1;
    sum.engines += static_cast<double>(sample.engines);
    sum.bound += static_cast<double>(sample.bound);
    sum.utilization +=
        static_cast<double>(sample.held) / static_cast<double>(sample.engines * capacity);
  }
  sum.engines /= counted;
  sum.bound /= counted;
  sum.utilization /= counted;
  const PackerStatus status = packer->status();
  sum.moves_per_second = static_cast<double>(status.moves) / now;
  sum.moved_tokens_per_second = static_cast<double>(status.moved_tokens) / now;
  sum.preemptions_per_request =
      static_cast<double>(status.preemptions) / static_cast<double>(requests);
  return sum;
}

}  // namespace aqua::bench
