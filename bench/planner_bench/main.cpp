// SPDX-License-Identifier: Apache-2.0
// planner_bench [--device D] [--peer D] [--mib N] [--sizes N] [--seed N] [--json FILE]
//
// Does the planner choose well where calibration did not look? Calibrates the device's links, then
// moves pieces of random sizes (4 KiB to 4 MiB, in transfers up to N MiB) by each way in turn, and
// compares the way that the planner chose with the best of them. Each measurement moves N MiB in
// all, in 5 to 2000 transfers; its time is their median, less what posting and seeing nothing
// takes. They go round a ring of twice N MiB, on a GPU of 1 GiB or more. The bytes of each way's
// first and last transfer are compared, both directions.
//
//   ratio = seconds of the chosen way / seconds of the fastest     goals: median 1.03, worst 1.10
//
// The report is written anew after each row. Exits 0 whether goals are met or not.
// Any device: emu:0, cuda:0; --peer names the lender (cuda:0 itself where there is but one GPU).
// Exits 77 where there is no such device.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>

#include "aqua/runtime.hpp"
#include "harness.hpp"
#include "planner_bench/rig.hpp"
#include "report/goal.hpp"
#include "report/planner_goals.hpp"
#include "report/provenance.hpp"
#include "report/report_file.hpp"
#include "report/what_ran.hpp"
#include "runtime/options.hpp"
#include "samples.hpp"
#include "transfer/calibration/curve_file.hpp"

namespace {

using namespace aqua;
using bench::must;
using nlohmann::json;
using transfer::Direction;
using transfer::FarMemory;
using transfer::PieceShape;
using transfer::Way;

constexpr unsigned kLayers = 32;

struct Wanted {
  std::string device = "emu:0", peer = "emu:1", json{};
  std::size_t mib = 64, sizes = 48;  // some are too small to tell
  unsigned seed = 1;

  [[nodiscard]] std::size_t bytes() const { return mib << 20; }
  // More than any L2 cache holds; the emulated GPU has none of its own.
  [[nodiscard]] std::size_t ring() const {
    return device.starts_with("emu:") ? 2 * bytes() : std::max(2 * bytes(), std::size_t{1} << 30U);
  }
};

std::unique_ptr<device::Device> open(const std::string& name, std::size_t bytes) {
  auto opened = runtime::open_device({.device = name, .emulated = {.total_bytes = bytes}});
  if (!opened.ok() && !name.starts_with("emu:")) {
    std::fprintf(stderr, "planner_bench: skipped: %s\n", opened.error().message.c_str());
    std::exit(77);
  }
  return must(std::move(opened), name.c_str());
}

// Evenly over the logarithms; pieces of whole 16 bytes, of no size that calibration measures but by
// chance.
std::vector<PieceShape> draw(const Wanted& wanted) {
  std::mt19937_64 random(wanted.seed);
  const auto between = [&](double low, double high) {
    const double uniform = static_cast<double>(random() >> 11U) * 0x1p-53;
    return static_cast<std::size_t>(low * std::pow(high / low, uniform));
  };
  std::vector<PieceShape> shapes;
  const double most = static_cast<double>(wanted.bytes());
  while (shapes.size() < wanted.sizes) {
    const std::size_t piece = between(4 << 10, 4 << 20) / 16 * 16;
    shapes.emplace_back(piece, between(static_cast<double>(piece), most), kLayers);
  }
  return shapes;
}

json compare(const transfer::LinkMemory& far, Direction direction, const PieceShape& shape,
             const transfer::Choice& choice, const bench::Rig::Times& times) {
  double best = 0;
  json by_way, ran;
  for (const Way way : transfer::kWays) {
    const double one = times.seconds[static_cast<std::size_t>(way)];
    if (one == 0) continue;
    by_way[std::string(to_string(way))] = one;
    ran[std::string(to_string(way))] = bench::to_json(times.ran[static_cast<std::size_t>(way)]);
    best = best == 0 ? one : std::min(best, one);
  }
  const double took = times.seconds[static_cast<std::size_t>(choice.way)];
  return {{"link", to_string(far.link)},
          {"direction", to_string(direction)},
          {"piece_bytes", shape.piece_bytes},
          {"bytes", shape.bytes()},
          {"pieces", shape.count()},
          {"transfers", times.transfers},
          {"idle_s", times.idle},
          {"resolved", times.resolved},
          {"chosen", to_string(choice.way)},
          {"expected_s", choice.seconds()},
          {"seconds", by_way},
          {"ran", ran},
          {"ratio", took / best}};
}

json summary(const std::vector<double>& ratios) {
  return {{"median", bench::median(ratios)}, {"worst", bench::quantile(ratios, 1)}};
}

// Adds rows to the report, and writes it after each.
void measure(const Wanted& wanted, bench::Rig& rig, const transfer::LinkMemory& far, json& report) {
  const transfer::WaySet ways = rig.ways();
  const std::vector<PieceShape> shapes = draw(wanted);
  const std::string name(to_string(far.link));
  std::vector<double> ratios;
  for (const PieceShape& shape : shapes) {
    for (const Direction direction : transfer::kDirections) {
      const auto times = rig.measure(far, direction, shape, ways, wanted.bytes());
      const auto choice = rig.choose(far, direction, shape);
      report["rows"].push_back(compare(far, direction, shape, choice, times));
      ratios.push_back(report["rows"].back()["ratio"]);
      report["links"][name] = summary(ratios);
      report["goals"] = bench::planner_goals(report["rows"]);
      bench::write_report(wanted.json, report);
    }
  }
  std::printf("%-6s %zu sizes, each direction: median %.3f of the best way, worst %.3f\n",
              name.c_str(), shapes.size(), bench::median(ratios), bench::quantile(ratios, 1));
  std::fflush(stdout);
}

json run(const Wanted& wanted, json report) {
  const std::size_t ring = wanted.ring();
  const auto device = open(wanted.device, 4 * ring + (std::size_t{512} << 20));
  std::unique_ptr<device::Device> neighbour;
  if (!wanted.peer.empty()) neighbour = open(wanted.peer, ring + (std::size_t{128} << 20));
  const std::string& driver = device->info().driver;
  report.update({{"benchmark", "planner"},
                 {"complete", false},
                 {"device", bench::gpu_model(device->info().name)},
                 {"driver", driver.empty() ? json() : json(driver)},
                 {"mib", wanted.mib},
                 {"ring_mib", ring >> 20U},
                 {"sizes", wanted.sizes},
                 {"seed", wanted.seed},
                 {"verified", true},
                 {"goals", json::array()},
                 {"rows", json::array()}});
  bench::write_report(wanted.json, report);
  const auto curves = std::make_shared<const transfer::CurveSet>(
      must(transfer::calibrate_links(*device, neighbour.get()), "calibrate"));
  // As the cache file has them, for planners of another day to be tried on.
  report["curves"] = print_curves(transfer::key_of(device->info()), *curves);
  std::vector<std::unique_ptr<FarMemory>> far;
  far.push_back(must(FarMemory::local(*device, ring), "local"));
  far.push_back(must(FarMemory::host(*device, ring), "host"));
  if (neighbour) far.push_back(must(FarMemory::peer(*device, *neighbour, ring), "peer"));
  bench::Rig rig(*device, ring);
  rig.use(curves);
  for (const auto& memory : far) measure(wanted, rig, memory->link(), report);
  report["complete"] = true;
  bench::write_report(wanted.json, report);
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  Wanted wanted;
  CLI::App app{
      "Compares the planner's choices with the best way, at sizes that calibration did not see."};
  app.option_defaults()->always_capture_default();
  app.add_option("--device", wanted.device, "emu:N, cuda:N or GPU-UUID");
  app.add_option("--peer", wanted.peer, "who lends; empty: no peer link");
  app.add_option("--mib", wanted.mib, "moved by each measurement, and by a transfer at most")
      ->check(CLI::Range(8, 16'384));
  app.add_option("--sizes", wanted.sizes, "drawn")->check(CLI::Range(1, 10'000));
  app.add_option("--seed", wanted.seed, "of the sizes");
  app.add_option("--json", wanted.json, "write the report");
  CLI11_PARSE(app, argc, argv);
  const json report = run(wanted, bench::provenance(argc, argv));
  bench::print_goals(report["goals"]);
  return 0;
}
