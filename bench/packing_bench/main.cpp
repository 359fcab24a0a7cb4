// SPDX-License-Identifier: Apache-2.0
// packing_bench: how many engines each packing policy needs, what it moves for that, and how long
// it decides. Only the seconds of part `million` differ from run to run. Parts:
//
//   trace        five loads of Azure's lengths: mell over wf and lb (at most 0.88 of their engines,
//                at least 1.12 of their utilization), pack over the best (at most 1.01) and its
//                tokens moved over drain's (at most 1); plans with a certificate (all)
//   batching     moves with a plan a second over moves with a plan for each event (at most 0.75)
//   sensitivity  what the savings hang on: the watermark and the size of an engine
//   million      processor time to pack a million requests, 100,000 at a time (at most 60 s)
//
// All but `million` want the trace: AQUA_DATA names the folder with traces/. Exits 0 whether goals
// are met or not.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "aqua/packing/packer.hpp"
#include "must.hpp"
#include "packing_bench/replay.hpp"
#include "report/goal.hpp"
#include "report/provenance.hpp"
#include "report/report_file.hpp"

namespace aqua::bench {
namespace {

using namespace packing;
using Json = nlohmann::json;
using ByPolicy = std::map<std::string, Replayed>;

const std::vector<std::string> kParts{"trace", "batching", "sensitivity", "million"};
// Nothing is kept free, and sizes are not rounded up: the policies alone.
constexpr PackerOptions kPlain{.watermark = 0, .block_tokens = 1};

class Bench {
 public:
  explicit Bench(Json head) : all_(std::move(head)) {
    all_["rows"] = Json::array();
    all_["goals"] = Json::array();
  }
  const Json& json() const { return all_; }

  void trace(const PackingLoad& load);
  void batching(const PackingLoad& load);
  void sensitivity(const PackingLoad& load);
  void million(const std::string& policy);

 private:
  void goal(const std::string& text, Bound bound, double limit, double measured) {
    all_["goals"].push_back(judge(text, bound, limit, measured));
  }
  Replayed run(const char* part, const PackingLoad& load, const std::string& policy,
               const PackerOptions& options, const ReplayAs& as = {});

  Json all_;
};

Replayed Bench::run(const char* part, const PackingLoad& load, const std::string& policy,
                    const PackerOptions& options, const ReplayAs& as) {
  const Replayed is = replay(policy, load.trace, options, as);
  std::printf(
      "%-11s %-22s %-5s%s%s watermark %.2f, C %6llu: %6.2f engines (most %llu, bound %.2f), "
      "%3.0f %% held; %6.2f moves/s, %6.0f tokens/s; %.2f preemptions a request\n",
      part, load.name.c_str(), policy.c_str(), options.reserve ? " reserving" : "",
      as.event_by_event ? " each event" : "", options.watermark,
      static_cast<unsigned long long>(as.capacity), is.engines,
      static_cast<unsigned long long>(is.peak), is.bound, 100 * is.utilization, is.moves_per_second,
      is.moved_tokens_per_second, is.preemptions_per_request);
  std::fflush(stdout);
  all_["rows"].push_back({{"part", part},
                          {"load", load.name},
                          {"policy", policy},
                          {"reserve", options.reserve},
                          {"watermark", options.watermark},
                          {"block_tokens", options.block_tokens},
                          {"capacity_tokens", as.capacity},
                          {"event_by_event", as.event_by_event},
                          {"engines_mean", is.engines},
                          {"engines_most", is.peak},
                          {"bound_mean", is.bound},
                          {"utilization", is.utilization},
                          {"moves_s", is.moves_per_second},
                          {"moved_tokens_s", is.moved_tokens_per_second},
                          {"preemptions_per_request", is.preemptions_per_request},
                          {"plans", is.epochs},
                          {"plans_certified", is.certified}});
  return is;
}

void Bench::trace(const PackingLoad& load) {
  ByPolicy by;
  for (const std::string& policy : packer_names()) by[policy] = run("trace", load, policy, kPlain);
  PackerOptions reserving = kPlain;
  reserving.reserve = true;
  const Replayed reserved = run("trace", load, "bf", reserving);
  for (const char* spread : {"wf", "lb"}) {
    goal(load.name + ": engines, mell over " + spread, Bound::at_most, 0.88,
         by["mell"].engines / by[spread].engines);
    goal(load.name + ": utilization, mell over " + spread, Bound::at_least, 1.12,
         by["mell"].utilization / by[spread].utilization);
  }
  double best = reserved.engines;
  for (const auto& [policy, is] : by) best = std::min(best, is.engines);
  goal(load.name + ": engines, pack over the best", Bound::at_most, 1.01,
       by["pack"].engines / best);
  goal(load.name + ": tokens moved, pack over drain", Bound::at_most, 1,
       by["pack"].moved_tokens_per_second / by["drain"].moved_tokens_per_second);
  for (const char* sure : {"mell", "pack"}) {
    goal(load.name + ": plans of " + sure + " with a certificate", Bound::at_least, 1,
         static_cast<double>(by[sure].certified) / static_cast<double>(by[sure].epochs));
  }
}

void Bench::batching(const PackingLoad& load) {
  for (const char* policy : {"mell", "pack"}) {
    const Replayed each = run("batching", load, policy, kPlain, {.event_by_event = true});
    const Replayed batched = run("batching", load, policy, kPlain);
    goal(load.name + ": moves of " + policy + ", a plan a second over one for each event",
         Bound::at_most, 0.75, batched.moves_per_second / each.moves_per_second);
  }
}

void Bench::sensitivity(const PackingLoad& load) {
  for (const double watermark : {0.0, 0.05, 0.1}) {
    for (const std::string& policy : packer_names())
      run("sensitivity", load, policy, {.watermark = watermark, .block_tokens = 16});
  }
  for (const std::uint64_t capacity : {8'000ULL, 31'000ULL}) {
    for (const std::string& policy : packer_names())
      run("sensitivity", load, policy, kPlain, {.capacity = capacity});
  }
}

// Each comes, grows once, and ends when 100,000 more have come; a plan after each thousandth.
void Bench::million(const std::string& policy) {
  constexpr std::uint64_t kAll = 1'000'000, kLive = 100'000, kEngines = 1500;
  const auto packer = must(make_packer(policy, {.block_tokens = 1}));
  for (std::uint64_t id = 1; id <= kEngines; ++id)
    must(packer->join({.id = EngineId{id}, .kv_tokens = 15'500}));
  std::mt19937_64 random(1);
  const std::clock_t start = std::clock();
  for (std::uint64_t id = 1; id <= kAll; ++id) {
    const std::uint64_t tokens = 1 + random() % 260;
    must(packer->arrive({.id = RequestId{id}, .tokens = tokens}));
    must(packer->grew(RequestId{id}, tokens + 20));
    if (id > kLive) must(packer->ended(RequestId{id - kLive}));
    if (id % 1000 != 0) continue;
    const Plan& plan = packer->epoch();
    for (const Move& move : plan.moves) must(packer->moved(move.request, plan.number));
  }
  const double cpu_s = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  const PackerStatus status = packer->status();
  const double looked_at = static_cast<double>(status.looked_at) / kAll;
  std::printf("million     %-5s %6.2f s CPU; %zu engines, %.1f entries looked at a request\n",
              policy.c_str(), cpu_s, status.active, looked_at);
  std::fflush(stdout);
  all_["rows"].push_back({{"part", "million"},
                          {"policy", policy},
                          {"cpu_s", cpu_s},
                          {"resident", status.resident},
                          {"engines", status.active},
                          {"moves", status.moves},
                          {"looked_at_per_request", looked_at}});
  goal("a million requests, " + policy + ", seconds", Bound::at_most, 60, cpu_s);
}

}  // namespace
}  // namespace aqua::bench

int main(int argc, char** argv) {
  using namespace aqua::bench;
  std::vector<std::string> parts = kParts;
  std::string json;
  CLI::App app{"How many engines each packing policy needs, what it moves, how long it decides."};
  app.option_defaults()->always_capture_default();
  app.add_option("--part", parts, "may be given several times")->check(CLI::IsMember(kParts));
  app.add_option("--json", json, "write the report");
  CLI11_PARSE(app, argc, argv);
  const auto wants = [&](const char* part) {
    return std::find(parts.begin(), parts.end(), part) != parts.end();
  };
  const std::vector<PackingLoad> loads = packing_loads();
  if (loads.empty() && parts != std::vector<std::string>{"million"}) {
    std::fprintf(stderr, "packing_bench: AQUA_DATA names no folder with the Azure trace\n");
    return 2;
  }
  Json head = provenance(argc, argv);
  head["benchmark"] = "packing";
  head["parts"] = parts;
  Bench bench(std::move(head));
  if (wants("trace")) {
    for (const PackingLoad& load : loads) bench.trace(load);
  }
  if (wants("batching")) bench.batching(loads.front()), bench.batching(loads.back());
  if (wants("sensitivity")) bench.sensitivity(loads[1]);
  if (wants("million")) {
    for (const std::string& policy : aqua::packing::packer_names()) bench.million(policy);
  }
  write_report(json, bench.json());
  print_goals(bench.json()["goals"]);
  return 0;
}
