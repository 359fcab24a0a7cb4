// SPDX-License-Identifier: Apache-2.0
// What the C ABI costs over the C++ one, for the calls that an engine makes all the time: a
// tensor's tier, pin and release, tick. Goal: under 50 ns a call. Batches of both alternate, so
// that a busy machine disturbs both. What the call costs more is taken from the quiet batches, the
// lowest tenth of each: a pin on an emulated GPU wakes a thread, which swings by hundreds of
// nanoseconds.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "aqua/aqua.h"
#include "aqua/runtime.hpp"
#include "harness.hpp"
#include "report/report_file.hpp"
#include "samples.hpp"

namespace {

using aqua::bench::must;
using Clock = std::chrono::steady_clock;
constexpr int kBatches = 301;
constexpr int kCalls = 2000;

void check(aqua_error* error) {
  if (error == nullptr) return;
  std::fprintf(stderr, "%s\n", aqua_error_message(error));
  std::exit(1);
}

template <typename F>
double nanoseconds_each(F&& call) {
  const auto start = Clock::now();
  for (int i = 0; i < kCalls; ++i) call();
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / kCalls;
}

// `calls`: how many calls of the C ABI one round makes.
template <typename Cpp, typename C>
nlohmann::json compare(int calls, Cpp&& cpp, C&& c) {
  std::vector<double> with_cpp;
  std::vector<double> with_c;
  for (int i = 0; i < kBatches; ++i) {
    with_cpp.push_back(nanoseconds_each(cpp));
    with_c.push_back(nanoseconds_each(c));
  }
  const double quiet_cpp = aqua::bench::quantile(with_cpp, 0.1);
  const double quiet_c = aqua::bench::quantile(with_c, 0.1);
  return {{"cpp_median_ns", aqua::bench::median(with_cpp)},
          {"c_median_ns", aqua::bench::median(with_c)},
          {"c_over_cpp", aqua::bench::median(aqua::bench::ratios(with_c, with_cpp))},
          {"calls", calls},
          {"cpp_quiet_ns", quiet_cpp},
          {"c_quiet_ns", quiet_c},
          {"extra_ns_a_call", (quiet_c - quiet_cpp) / calls},
          {"batches", kBatches}};
}

}  // namespace

int main(int argc, char** argv) {
  std::string json;
  CLI::App app{"What the C ABI costs over the C++ one."};
  app.add_option("--json", json, "write the report");
  CLI11_PARSE(app, argc, argv);
  char pattern[] = "/tmp/aqua-bench-XXXXXX";
  const std::string directory = ::mkdtemp(pattern);
  nlohmann::json report{{"benchmark", "capi"}, {"device", "emulated"}};
  {
    auto cpp = must(aqua::Runtime::open({.device = "emu:0",
                                         .coordinator = "none",
                                         .host_bytes = std::size_t{2} << 20,
                                         .socket_directory = directory,
                                         .callbacks_in_tick = true}),
                    "open");
    auto cpp_tensor = must(cpp.allocate({.bytes = 4096}), "allocate");
    aqua_runtime_options options = AQUA_RUNTIME_OPTIONS_INIT;
    options.device = "emu:0";
    options.coordinator = "none";
    options.host_bytes = std::size_t{2} << 20;
    options.socket_directory = directory.c_str();
    options.callbacks_in_tick = 1;
    aqua_runtime c{};
    check(aqua_runtime_open(&options, &c));
    aqua_tensor_options wanted = AQUA_TENSOR_OPTIONS_INIT;
    wanted.bytes = 4096;
    aqua_tensor c_tensor{};
    check(aqua_tensor_allocate(c, &wanted, &c_tensor));

    volatile unsigned sink = 0;
    report["tier"] = compare(
        1, [&] { sink = static_cast<unsigned>(cpp_tensor.tier()); },
        [&] {
          aqua_tier tier = 0;
          check(aqua_tensor_get_tier(c_tensor, &tier));
          sink = tier;
        });
    report["tick"] = compare(
        1, [&] { cpp.tick(); }, [&] { check(aqua_runtime_tick(c)); });
    report["pin_and_release"] = compare(
        2,
        [&] {
          auto pin = must(cpp_tensor.pin(aqua::Access::read, aqua::Stream{}), "pin");
          pin.release();
        },
        [&] {
          aqua_pin pin{};
          check(
              aqua_tensor_pin(c_tensor, AQUA_ACCESS_READ, 0, 0, AQUA_WHOLE_TENSOR, &pin, nullptr));
          check(aqua_pin_release(pin));
        });
    check(aqua_tensor_free(c_tensor));
    check(aqua_runtime_close(c));
  }
  std::filesystem::remove_all(directory);
  std::printf("%s\n", report.dump(2).c_str());
  aqua::bench::write_report(json, report);
  return 0;
}
