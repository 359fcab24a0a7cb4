// SPDX-License-Identifier: Apache-2.0
// gpu_bench [--mib N] [--repetitions N] [--only GROUP] [--nccl FILE] [--json FILE]
//
// What copies of KV blocks cost on the first GPU: by the driver's means, by our kernels alone, and
// by the library ("library": a Mover, the planner's choice after a calibration in this run), all in
// one run. Groups: hbm, host, slab, nccl, sm_budget, launches, green_contexts, batch; all of them
// by default. Each copy is timed behind a gate kernel that holds the stream until all is queued,
// where the driver's queue is long enough (the report says so), and with the host's posting
// (gpu/measure.hpp); medians and quartiles; every destination is overwritten before and compared
// after, with what lies between the blocks. The report is written anew after each size. Exits 0
// whether goals (report/gpu_goals.hpp) are met or not, 77 when there is no GPU, or no NCCL or green
// contexts and only that group was asked for, 1 when a byte is wrong.
//
// The matrix product of sm_budget is a stand-in for an engine's: plain tensor-core tiles.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "gpu/groups.hpp"
#include "gpu/lender_process.hpp"
#include "report/goal.hpp"
#include "report/gpu_goals.hpp"
#include "report/provenance.hpp"
#include "report/report_file.hpp"

namespace {

using namespace aqua;

struct Options {
  std::size_t mib = 1024;
  unsigned repetitions = 11;
  std::string only{};
  std::string nccl = "libnccl.so.2";
  std::string json_path{};
};

constexpr const char* kUsage =
    "gpu_bench [--mib N] [--repetitions N] [--nccl FILE] [--json FILE]\n"
    "          [--only hbm|host|slab|nccl|sm_budget|launches|green_contexts|batch]\n"
    "  --mib          MiB moved by each measurement, a power of two, at least 64 (1024)\n"
    "  --repetitions  measurements of each way (11)\n"
    "  --nccl         the library, where the loader does not find libnccl.so.2\n";

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; i += 2) {
    const std::string_view option = argv[i];
    if (i + 1 == argc) return false;
    const char* value = argv[i + 1];
    if (option == "--mib") {
      options.mib = std::strtoull(value, nullptr, 10);
    } else if (option == "--repetitions") {
      options.repetitions = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
    } else if (option == "--only") {
      options.only = value;
    } else if (option == "--nccl") {
      options.nccl = value;
    } else if (option == "--json") {
      options.json_path = value;
    } else {
      return false;
    }
  }
  const bool power_of_two = options.mib >= 64 && (options.mib & (options.mib - 1)) == 0;
  return power_of_two && options.repetitions != 0;
}

nlohmann::json machine() {
  cudaDeviceProp prop{};
  int driver = 0;
  int runtime = 0;
  bench::must(cudaGetDeviceProperties(&prop, 0));
  bench::must(cudaDriverGetVersion(&driver));
  bench::must(cudaRuntimeGetVersion(&runtime));
  return {{"device", prop.name},
          {"driver", driver},
          {"runtime", runtime},
          {"capability", std::to_string(prop.major) + "." + std::to_string(prop.minor)},
          {"sms", prop.multiProcessorCount},
          {"l2_bytes", prop.l2CacheSize}};
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (argc == 2 && std::string_view(argv[1]) == "--help") {
    std::printf("%s", kUsage);
    return 0;
  }
  if (argc == 3 && std::string_view(argv[1]) == "--lend") {  // slab's other process
    return bench::lend(std::strtoull(argv[2], nullptr, 10));
  }
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr, "%s", kUsage);
    return 2;
  }
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    std::fprintf(stderr, "gpu_bench: skipped, no GPU: %s\n", cudaGetErrorString(error));
    return 77;
  }
  nlohmann::json report = machine();
  report["benchmark"] = "gpu";
  report.update(bench::provenance(argc, argv));
  report["complete"] = false;
  report["results"] = nlohmann::json::array();
  const auto write = [&] {
    report["goals"] = bench::gpu_goals(report["results"]);
    bench::write_report(options.json_path, report);
  };
  write();
  bench::must(kernels::load_kernels());
  bench::Meter meter(options.repetitions);
  bench::Areas areas(options.mib << 20);
  const auto run = [&](const char* name, auto&& measure) {
    if (!options.only.empty() && options.only != name) return;
    measure([&](const nlohmann::json& rows) {
      report["results"].insert(report["results"].end(), rows.begin(), rows.end());
      write();
    });
  };
  run("hbm", [&](const auto& sink) { bench::measure_hbm(areas, meter, sink); });
  run("host", [&](const auto& sink) { bench::measure_host(areas, meter, sink); });
  run("slab", [&](const auto& sink) { bench::measure_slab(areas, meter, sink); });
  bool left_out = false;
  run("nccl", [&](const auto& sink) {
    const auto nccl = bench::Nccl::load(options.nccl);
    if (nccl.ok()) return bench::measure_nccl(areas, meter, **nccl, sink);
    left_out = !options.only.empty();
    std::fprintf(stderr, "gpu_bench: skipped: %s\n", nccl.error().message.c_str());
  });
  if (left_out) return 77;
  run("sm_budget", [&](const auto& sink) { bench::measure_sm_budget(areas, meter, sink); });
  run("launches", [&](const auto& sink) { bench::measure_launches(sink); });
  run("green_contexts", [&](const auto& sink) {
    const auto measured = bench::measure_green_contexts(areas, options.repetitions, sink);
    if (measured.ok()) return;
    const bool cannot = measured.error().code == Code::unimplemented;
    std::fprintf(stderr, "gpu_bench: %s%s\n", cannot ? "skipped: " : "",
                 measured.error().message.c_str());
    if (!cannot) std::exit(1);
    left_out = !options.only.empty();
  });
  if (left_out) return 77;
  run("batch", [&](const auto& sink) { bench::measure_batch(areas, meter, sink); });
  report["complete"] = true;
  write();
  bench::print_goals(report["goals"]);
  return 0;
}
