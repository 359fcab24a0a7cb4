// gpu_bench [--mib N] [--repetitions N] [--only GROUP] [--json FILE]
//
// What copies of KV blocks cost on the first GPU, with our kernels and by the driver's means,
// all in one run. Groups: hbm, host, slab, sm_budget, launches; all of them by default. Streams are
// held behind a gate kernel until all is queued, where the driver's queue is long enough (the
// report says so); medians and quartiles; every destination is overwritten before and compared
// after. Exits 77 when there is no GPU, 1 when a byte is wrong.
//
// The matrix product of sm_budget is a stand-in for an engine's: plain tensor-core tiles.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>

#include "gpu/groups.hpp"
#include "gpu/lender_process.hpp"

namespace {

using namespace aqua;

struct Options {
  std::size_t mib = 1024;
  unsigned repetitions = 11;
  std::string only{};
  std::string json_path{};
};

constexpr const char* kUsage =
    "gpu_bench [--mib N] [--repetitions N] [--only hbm|host|slab|sm_budget|launches] [--json "
    "FILE]\n"
    "  --mib          MiB moved by each measurement, a power of two, at least 2 (1024)\n"
    "  --repetitions  measurements of each way (11)\n";

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
    } else if (option == "--json") {
      options.json_path = value;
    } else {
      return false;
    }
  }
  const bool power_of_two = options.mib >= 2 && (options.mib & (options.mib - 1)) == 0;
  return power_of_two && options.repetitions != 0;
}

std::string now() {
  const std::time_t t = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&t, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
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
          {"l2_bytes", prop.l2CacheSize},
          {"date", now()}};
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
  for (int i = 0; i < argc; ++i) {
    report["command"] = report.value("command", "") + (i == 0 ? "" : " ") + argv[i];
  }
  report["results"] = nlohmann::json::array();
  bench::must(kernels::load_kernels());
  bench::Meter meter(options.repetitions);
  bench::Areas areas(options.mib << 20);
  const auto run = [&](const char* name, auto&& measure) {
    if (!options.only.empty() && options.only != name) return;
    const nlohmann::json rows = measure();
    report["results"].insert(report["results"].end(), rows.begin(), rows.end());
  };
  run("hbm", [&] { return bench::measure_hbm(areas, meter); });
  run("host", [&] { return bench::measure_host(areas, meter); });
  run("slab", [&] { return bench::measure_slab(areas, meter); });
  run("sm_budget", [&] { return bench::measure_sm_budget(areas, meter); });
  run("launches", [&] { return bench::measure_launches(); });
  if (!options.json_path.empty()) {
    std::ofstream file(options.json_path);
    file << report.dump(1) << '\n';
    if (!file) return 1;
  }
  return 0;
}
