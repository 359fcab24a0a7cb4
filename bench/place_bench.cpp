// SPDX-License-Identifier: Apache-2.0
// The placer: gap and time by cluster size, for three families of models; the naive formulation
// beside; in large clusters two more families whose optimum is known, which tells whether placement
// or bound is what a gap comes from; and against placements that do not look at memory.
//
// Times are of the wall, with the process's CPU seconds beside: on a busy machine they differ.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "harness.hpp"
#include "place_models.hpp"
#include "report/goal.hpp"
#include "report/report_file.hpp"
#include "samples.hpp"
#include "tools/place/search/baselines.hpp"
#include "tools/place/solve.hpp"

namespace {

using namespace aqua;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

using bench::Mix;

const char* name_of(Mix mix) {
  switch (mix) {
    case Mix::table1:
      return "table1";
    case Mix::own:
      return "own";
    case Mix::balanced:
      return "balanced";
    case Mix::planted:
      return "planted";
    case Mix::even:
      return "even";
  }
  return "";
}

bool is_planted(Mix mix) {
  return mix == Mix::planted || mix == Mix::even;
}

place::Cluster cluster_of(int gpus, Mix mix, unsigned seed) {
  return bench::must(place::Cluster::make(bench::paper_mix(gpus, mix, seed)), "cluster");
}

std::size_t peers(const place::Cluster& cluster, const place::Assignment& assignment) {
  return place::match(cluster, assignment).size();
}

Json run_once(int gpus, Mix mix, unsigned seed, const char* solver, double limit_s) {
  const place::Cluster cluster = cluster_of(gpus, mix, seed);
  const auto start = Clock::now();
  const std::clock_t cpu = std::clock();
  const auto placed = place::solve(cluster, {.time_limit_s = limit_s, .solver = solver});
  const double wall_s = std::chrono::duration<double>(Clock::now() - start).count();
  const double cpu_s = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
  Json row{{"gpus", gpus},          {"family", name_of(mix)}, {"seed", seed},
           {"formulation", solver}, {"limit_s", limit_s},     {"models", cluster.models().size()},
           {"wall_s", wall_s},      {"cpu_s", cpu_s},         {"found", placed.ok()}};
  if (placed.ok()) {
    row.update({{"objective", placed->score.objective},
                {"bound", placed->bound},
                {"gap", placed->gap()},
                {"optimal", placed->optimal()},
                {"time_limit_hit", placed->time_limit_hit},
                {"method", placed->method},
                {"solver", placed->solver}});
    if (is_planted(mix)) row["optimum"] = bench::planted_optimum(mix);
  }
  std::printf("%6d GPUs %-8s seed %u %-9s gap %7.3f %% %-8s %6.2f s wall %6.2f s CPU  %s\n", gpus,
              name_of(mix), seed, solver, placed.ok() ? placed->gap() * 100 : -1,
              placed.ok() && placed->optimal() ? "optimal" : "", wall_s, cpu_s,
              placed.ok() ? placed->method.c_str() : placed.error().message.c_str());
  if (placed.ok() && is_planted(mix)) {
    const auto gb = [](place::Bytes bytes) { return static_cast<double>(bytes) / 1e9; };
    std::printf("%27s found %.3f, planted %.3f, bound %.3f GB\n", "", gb(placed->score.objective),
                gb(bench::planted_optimum(mix)), gb(placed->bound));
  }
  std::fflush(stdout);
  return row;
}

// The worst of these rows; nullopt where there are none. A placement that was not found is worst.
template <typename Wanted>
std::optional<double> worst(const Json& rows, const char* what, Wanted wanted) {
  std::optional<double> most;
  for (const Json& row : rows) {
    if (row.at("formulation") != "auto" || !wanted(row)) continue;
    const double infinite = std::numeric_limits<double>::infinity();
    most = std::max(most.value_or(0), row.value(what, infinite));
  }
  return most;
}

// Small and nearly balanced clusters are the hardest of their size; in large ones it is models with
// bytes of their own.
Json goals_of(const Json& rows) {
  const auto balanced = [](const Json& row) {
    return row.at("family") == name_of(Mix::balanced) && row.at("gpus") <= 128;
  };
  const auto large = [](const Json& row) { return row.at("gpus") > 128; };
  using bench::Bound;
  return Json::array({bench::judge("up to 128 nearly balanced GPUs, gap", Bound::at_most, 0.01,
                                   worst(rows, "gap", balanced)),
                      bench::judge("up to 128 nearly balanced GPUs, seconds", Bound::at_most, 5,
                                   worst(rows, "wall_s", balanced)),
                      bench::judge("1,000 and 10,000 GPUs, gap", Bound::at_most, 0.02,
                                   worst(rows, "gap", large))});
}

Json against(int gpus, unsigned seed) {
  const place::Cluster cluster = cluster_of(gpus, Mix::table1, seed);
  const auto placed = bench::must(place::solve(cluster, {.time_limit_s = 5}), "solve");
  const auto first = place::first_fit(cluster);
  std::vector<double> random_pairs;
  std::vector<double> random_served;
  std::vector<double> random_objective;
  for (unsigned draw = 0; draw < 100; ++draw) {
    const auto one = place::at_random(cluster, draw);
    if (!one) continue;
    const auto score = place::score_of(cluster, *one);
    random_pairs.push_back(static_cast<double>(peers(cluster, *one)));
    random_served.push_back(static_cast<double>(score.served));
    random_objective.push_back(static_cast<double>(score.objective));
  }
  long consumers = 0;
  place::Bytes needed = 0;
  for (const place::Model& model : cluster.models()) {
    if (model.bytes >= 0) continue;
    consumers += model.shards;
    needed -= model.bytes * model.shards;
  }
  Json row{
      {"gpus", gpus}, {"seed", seed}, {"consumer_shards", consumers}, {"needed_bytes", needed}};
  row["placer"] = {{"with_peer", placed.pairs.size()},
                   {"served_bytes", placed.score.served},
                   {"objective", placed.score.objective}};
  if (first) {
    const auto score = place::score_of(cluster, *first);
    row["first_fit"] = {{"with_peer", peers(cluster, *first)},
                        {"served_bytes", score.served},
                        {"objective", score.objective}};
  }
  row["random_median_of_100"] = {{"with_peer", bench::median(random_pairs)},
                                 {"served_bytes", bench::median(random_served)},
                                 {"objective", bench::median(random_objective)}};
  std::printf("%s\n", row.dump().c_str());
  return row;
}

void print_input(int gpus) {
  const place::Problem problem = bench::paper_mix(gpus, Mix::table1, 1);
  Json out{{"servers", Json::array()}, {"models", Json::array()}};
  for (const auto& s : problem.servers) {
    out["servers"].push_back({{"id", s.id}, {"gpus", s.gpus}, {"hbm_bytes", s.hbm_bytes}});
  }
  for (const auto& m : problem.models) {
    out["models"].push_back({{"id", m.id}, {"shards", m.shards}, {"bytes", m.bytes}});
  }
  std::printf("%s\n", out.dump(1).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  std::string json;
  unsigned seeds = 5;
  int largest = 10'000, input_of = 0;
  bool without_naive = false;
  CLI::App app{"The placer's gap and time, by cluster size."};
  app.option_defaults()->always_capture_default();
  app.add_option("--seeds", seeds, "of each size and family")->check(CLI::Range(1, 1000));
  app.add_option("--largest", largest, "GPUs of the largest clusters");
  app.add_flag("--no-naive", without_naive, "leaves out the naive formulation");
  app.add_option("--input-of", input_of,
                 "prints a cluster of so many GPUs as an input of `aqua place`, and ends");
  app.add_option("--json", json, "write the report");
  CLI11_PARSE(app, argc, argv);
  if (input_of != 0) {
    print_input(input_of);
    return 0;
  }
  Json rows = Json::array();
  for (const int gpus : {16, 32, 64, 128, 1000, 10'000}) {
    if (gpus > largest) break;
    const bool small = gpus <= 128;
    for (const Mix mix : {Mix::table1, Mix::own, Mix::balanced, Mix::planted, Mix::even}) {
      if (small && is_planted(mix)) continue;
      for (unsigned seed = 1; seed <= (small ? seeds : std::min(seeds, 2U)); ++seed) {
        rows.push_back(run_once(gpus, mix, seed, "auto", small ? 5 : 30));
      }
      if (small && !without_naive) rows.push_back(run_once(gpus, mix, 1, "naive", 5));
    }
  }
  Json others = Json::array();
  for (unsigned seed = 1; seed <= seeds; ++seed) others.push_back(against(16, seed));
  others.push_back(against(128, 1));
  const Json goals = goals_of(rows);
  bench::print_goals(goals);
  double load = 0;
  if (::getloadavg(&load, 1) < 1) load = -1;
  bench::write_report(
      json, {{"load_average", load}, {"placements", rows}, {"against", others}, {"goals", goals}});
  return 0;
}
