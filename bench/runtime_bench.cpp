// SPDX-License-Identifier: Apache-2.0
// What the engine's thread pays: tick() with nothing to do (goal: under 2 us), and a tensor
// allocated inside leased slabs against a REST round trip to the coordinator, which is what
// the paper's design pays for each (Aqua, section 6).
#include <poll.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "aqua/runtime.hpp"
#include "harness.hpp"
#include "report/report_file.hpp"
#include "samples.hpp"
#include "southbound/http_call.hpp"

namespace {

using namespace aqua::literals;
using aqua::bench::must;
using Clock = std::chrono::steady_clock;

template <typename F>
std::vector<double> sample_ns(std::size_t count, F&& call) {
  std::vector<double> ns;
  ns.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto start = Clock::now();
    call();
    ns.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count());
  }
  return ns;
}

nlohmann::json summary(const std::vector<double>& ns) {
  return {{"median_ns", aqua::bench::median(ns)},
          {"p99_ns", aqua::bench::quantile(ns, 0.99)},
          {"samples", ns.size()}};
}

}  // namespace

int main(int argc, char** argv) {
  std::string binary = "./aqua-coordinator";
  std::string json;
  CLI::App app{"What the engine's thread pays for tick() and allocate()."};
  app.option_defaults()->always_capture_default();
  app.add_option("--coordinator-binary", binary, "aqua-coordinator");
  app.add_option("--json", json, "write the report");
  CLI11_PARSE(app, argc, argv);
  const aqua::bench::Coordinator coordinator(binary);
  const std::string address = coordinator.address();
  nlohmann::json report{{"benchmark", "runtime"}, {"device", "emulated"}};
  {
    auto lender = must(aqua::Runtime::open({.device = "emu:0",
                                            .coordinator = address,
                                            .name = "lender",
                                            .host_bytes = 2_MiB,
                                            .socket_directory = coordinator.directory()}),
                       "open");
    auto borrower = must(aqua::Runtime::open({.device = "emu:1",
                                              .coordinator = address,
                                              .name = "borrower",
                                              .host_bytes = 768_MiB,
                                              .max_peer_bytes = 512_MiB,
                                              .socket_directory = coordinator.directory(),
                                              .callbacks_in_tick = true}),
                         "open");
    must(lender.lend(512_MiB), "lend");
    while (borrower.status().peer.capacity_bytes < 512_MiB) ::poll(nullptr, 0, 1);
    borrower.tick();

    report["tick_idle"] = summary(sample_ns(1'000'000, [&] { borrower.tick(); }));
    std::vector<aqua::AquaTensor> kept;
    for (int i = 0; i < 200; ++i)
      kept.push_back(must(borrower.allocate({.bytes = 1_MiB, .name = "kept"}), "allocate"));
    const auto allocate = sample_ns(100'000, [&] {
      auto tensor = borrower.allocate({.bytes = 256_KiB, .name = "t"});
      if (!tensor.ok() || tensor->tier() != aqua::Tier::peer) std::exit(1);
    });
    const auto to = must(aqua::wire::parse_address(address), "address");
    const auto rest = sample_ns(2'000, [&] {
      const auto outcome =
          aqua::southbound::http_call(to, {"GET", "/healthz", std::nullopt, ""},
                                      Clock::now() + std::chrono::seconds(5), nullptr);
      if (!outcome.reply || outcome.reply->status != 200) std::exit(1);
    });
    report["allocate_and_free"] = summary(allocate);
    report["rest_round_trip"] = summary(rest);
    report["rest_over_allocate"] = aqua::bench::median(rest) / aqua::bench::median(allocate);
  }
  std::printf("%s\n", report.dump(2).c_str());
  aqua::bench::write_report(json, report);
  return 0;
}
