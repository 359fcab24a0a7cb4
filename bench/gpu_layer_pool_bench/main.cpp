// SPDX-License-Identifier: Apache-2.0
// gpu_layer_pool_bench: a LayerPool under kernels of a GPU. Kernels compare every block that a step
// reads, stamp those that it writes, and spin as long as a model's layer would compute. Parts:
//
//   graphs   each layer's kernels are captured before the first step and replayed in all, while
//            frames change under them (no word may be wrong)
//   step     12 of 24 layers stream, copies at 0.9 of compute: a step over all-resident (at most
//            1.05); bytes written back over bytes fetched (at most 0.05); what the pool's calls
//            take of the host's processor for each streamed layer (at most 20 us)
//   resize   how long resize() takes, by the layers that change sides
//   marks    what the marks of a pool with a goal cost a step
//
// The report is written anew after each row. Exits 0 whether goals are met or not, 1 where a byte
// is wrong, 77 where there is no such device. With --device emu:0 host functions stand in for
// kernels and a list for a graph: that shows that the program is right, and measures nothing.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "gpu_layer_pool_bench/parts.hpp"
#include "must.hpp"
#include "report/goal.hpp"
#include "report/provenance.hpp"

namespace {

using namespace aqua::bench;

const std::vector<std::string> kParts{"graphs", "step", "resize", "marks"};

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> parts = kParts;
  std::string device = "cuda:0", json;
  unsigned rounds = 5;
  bool quick = false;
  CLI::App app{"A LayerPool under kernels of a GPU, beside the same layers all resident."};
  app.option_defaults()->always_capture_default();
  app.add_option("--part", parts, "may be given several times")->check(CLI::IsMember(kParts));
  app.add_option("--device", device, "cuda:0 or emu:0")->check(CLI::IsMember({"cuda:0", "emu:0"}));
  app.add_option("--repetitions", rounds, "of each measurement")->check(CLI::Range(1, 1000));
  app.add_flag("--quick", quick, "a few steps of everything, to see that it runs");
  app.add_option("--json", json, "write the report");
  CLI11_PARSE(app, argc, argv);
  auto bed = make_bed(device, rounds, quick);
  if (!bed.ok()) {
    std::fprintf(stderr, "gpu_layer_pool_bench: skipped: %s\n", bed.error().message.c_str());
    return bed.error().code == aqua::Code::unavailable ? 77 : 1;
  }
  nlohmann::json head = provenance(argc, argv);
  head.update({{"benchmark", "gpu_layer_pool"},
               {"device", device.starts_with("emu") ? "emulated" : gpu_model(device)},
               {"quick", quick},
               {"parts", parts}});
  Report report(json, std::move(head));
  const auto run = [&](const char* part, void (*measure)(Report&, Bed&)) {
    if (std::find(parts.begin(), parts.end(), part) != parts.end()) measure(report, *bed);
  };
  run("graphs", measure_graphs);
  run("step", measure_step);
  run("resize", measure_resize);
  run("marks", measure_marks);
  report.complete();
  print_goals(report.json()["goals"]);
  return 0;
}
