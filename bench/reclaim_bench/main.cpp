// SPDX-License-Identifier: Apache-2.0
// reclaim_bench: reclaims N MiB from a live consumer in another process, from the call to the last
// slab scrubbed and usable, and to the first. The consumer's slabs are full of stamped tensors,
// which it checks afterwards. Beside it, in the same run, each part alone: copying as many bytes
// from device to host memory, unmapping as many slabs, scrubbing them. Reported: medians, spread,
// and
//
//   ratio = (reclaim - 20 ms) / (copy + unmap + scrub)
//
// Goals: at most 1.2 on emulated GPUs (the default, emu:0 and emu:1), 1.1 on real ones (cuda:0, and
// cuda:0 again for the consumer where there is no other); the first slab within 30 ms. The report
// is written anew after each round. Exits 0 whether they are met or not, 77 where there is no such
// device.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "aqua/runtime.hpp"
#include "reclaim_bench/consumer.hpp"
#include "reclaim_bench/parts.hpp"
#include "report/goal.hpp"
#include "report/provenance.hpp"
#include "report/reclaim_goals.hpp"
#include "report/report_file.hpp"
#include "report/what_ran.hpp"
#include "samples.hpp"

namespace {

using namespace aqua::bench;

struct Times {
  std::vector<double> first, last;  // slab home, milliseconds after the call
  std::size_t verified_bytes = 0;   // that the consumer compared, none of them wrong
  aqua::device::CopyCounts ran{};   // of the consumer, the last time
};

// `done(times)` after each round that counts.
template <typename Done>
void reclaim(const ReclaimOptions& options, const Coordinator& coordinator,
             ConsumerProcess& consumer, Done done) {
  const std::size_t bytes = options.bytes();
  auto producer = must(aqua::Runtime::open({.device = options.device,
                                            .coordinator = coordinator.address(),
                                            .name = "producer",
                                            .host_bytes = 2_MiB,
                                            .slab_bytes = kSlabBytes,
                                            .socket_directory = coordinator.directory(),
                                            .curve_directory = "off",
                                            .emulated = {.total_bytes = bytes}}),
                       "open producer");
  Times times;
  for (unsigned round = 0; round <= options.rounds; ++round) {
    must(producer.lend(bytes), "lend");
    consumer.fill();
    const auto reclaim = must(producer.reclaim(bytes, std::chrono::seconds(60)), "reclaim");
    const auto outcome = must(reclaim.wait(), "wait");
    consumer.check();
    times.verified_bytes += bytes;
    times.ran = consumer.ran();
    if (round == 0) continue;  // warms up
    times.first.push_back(static_cast<double>(outcome.first_slab.count()) / 1000);
    times.last.push_back(static_cast<double>(outcome.last_slab.count()) / 1000);
    std::printf("round %u: first slab %.1f ms, all %.1f ms\n", round, times.first.back(),
                times.last.back());
    done(times);
  }
}

nlohmann::json summary(const std::vector<double>& ms) {
  return {{"median_ms", median(ms)},
          {"min_ms", quantile(ms, 0)},
          {"max_ms", quantile(ms, 1)},
          {"samples", ms.size()}};
}

nlohmann::json report(const ReclaimOptions& options, const Parts& parts, const Times& times) {
  const ReclaimMedians medians{.emulated = options.emulated(),
                               .mib = options.mib,
                               .all_ms = median(times.last),
                               .first_slab_ms = median(times.first),
                               .copy_ms = median(parts.copy),
                               .unmap_ms = median(parts.unmap),
                               .scrub_ms = median(parts.scrub)};
  return {{"benchmark", "reclaim"},
          {"complete", times.last.size() == options.rounds},
          {"goals", reclaim_goals(medians)},
          {"device", options.emulated() ? "emulated" : gpu_model(parts.device)},
          {"driver", parts.driver.empty() ? nlohmann::json() : nlohmann::json(parts.driver)},
          {"one_gpu_for_both", options.one_gpu()},
          {"mib", options.mib},
          {"slab_mib", kSlabBytes >> 20},
          {"verified_bytes", times.verified_bytes},
          {"ran", to_json(times.ran)},
          {"reclaim", summary(times.last)},
          {"first_slab", summary(times.first)},
          {"copy_alone", summary(parts.copy)},
          {"unmap_alone", summary(parts.unmap)},
          {"scrub_alone", summary(parts.scrub)},
          {"ratio", medians.ratio()}};
}

}  // namespace

int main(int argc, char** argv) {
  ReclaimOptions options;
  CLI::App app{"Reclaims memory from a live consumer in another process, beside each part alone."};
  app.option_defaults()->always_capture_default();
  app.add_option("--mib", options.mib, "reclaimed, a multiple of 64")
      ->check(CLI::Range(64, 1 << 20))
      ->check([](const std::string& text) {
        return std::strtoull(text.c_str(), nullptr, 10) % 64 == 0 ? "" : "not a multiple of 64";
      });
  app.add_option("--rounds", options.rounds, "after one that does not count")
      ->check(CLI::Range(1, 1000));
  app.add_option("--device", options.device, "the producer's: emu:N, cuda:N or GPU-UUID");
  app.add_option("--consumer-device", options.consumer, "may be the same");
  app.add_option("--coordinator-binary", options.coordinator, "aqua-coordinator");
  app.add_option("--json", options.json, "write the report");
  CLI11_PARSE(app, argc, argv);
  std::signal(SIGPIPE, SIG_IGN);  // a consumer that has died is told by ask()
  const Coordinator coordinator(
      options.coordinator,
      options.one_gpu() ? std::vector<std::string>{"--share-device"} : std::vector<std::string>{});
  ConsumerProcess consumer(options, coordinator);
  consumer.wait_open();  // the parts are measured alone
  const auto parts = measure_parts(options);
  if (!parts.ok()) {
    std::fprintf(stderr, "reclaim_bench: skipped: %s\n", parts.error().message.c_str());
    return 77;
  }
  const nlohmann::json run = provenance(argc, argv);
  nlohmann::json all;
  reclaim(options, coordinator, consumer, [&](const Times& times) {
    all = report(options, *parts, times);
    all.update(run);
    write_report(options.json, all);
  });
  std::printf("%s", report_text(all).c_str());
  print_goals(all["goals"]);
  return 0;
}
