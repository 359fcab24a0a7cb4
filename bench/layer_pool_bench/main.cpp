// SPDX-License-Identifier: Apache-2.0
// layer_pool_bench: what layers that stream cost a step, beside the same layers all resident in the
// same run. On emulated devices: kernels are waits of a known length in their stream, which take no
// processor; copies are real, over a link that is given a rate; every block is stamped, and
// compared when it is read. Parts:
//
//   step       12 of 24 layers stream, copies at 0.9 of compute: a step over all-resident (at most
//              1.05); bytes written back over bytes fetched (at most 0.05); what the pool's calls
//              take of the host's processor for each streamed layer (at most 20 us: 1 % of a step
//              of which half of the layers stream and each computes for 1 ms)
//   on_demand  the same without prefetch: a step over all-resident (at least 1.5)
//   links      three speeds of the link: the least frames without stalls, and those reckoned (at
//              most one apart)
//   schedules  the same swaps over compute, and the schedules `fixed` and `fifo`: a step over
//              all-resident for each number of frames, and the least without stalls (of `fixed` no
//              more than of `fifo`, of `fifo` at most one away from its replay in virtual time)
//   adaptive   four models: tokens a second with the goal `capacity` over the best fixed number of
//              frames (at least 0.98), which are reached before the pool first fills
//   halved     another stream takes half of the link: stalls are gone (within 50 steps); then it is
//              gone, and frames are as few as before, or one more (within 100)
//   burst      the same for 6 steps: no change of frames
//   memory     the goal `memory`: throughput over all-resident (at least 0.98), and how many times
//              fewer bytes (at least 1.67), the rest in another process's hands
//
// The report is written anew after each row. Exits 0 whether goals are met or not, and 1 where a
// byte was wrong.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <optional>

#include "layer_pool_bench/layer_work.hpp"
#include "layer_pool_bench/parts.hpp"
#include "report/goal.hpp"
#include "report/provenance.hpp"

namespace {

using namespace aqua::bench;

const std::vector<std::string> kParts{"step",     "on_demand", "links", "schedules",
                                      "adaptive", "halved",    "burst", "memory"};

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> parts = kParts;
  std::string daemon = "./aqua-coordinator", json;
  bool quick = false;
  CLI::App app{"What layers that stream cost a step, beside the same layers all resident."};
  app.option_defaults()->always_capture_default();
  app.add_option("--part", parts, "may be given several times")->check(CLI::IsMember(kParts));
  app.add_flag("--quick", quick, "a few steps of everything, to see that it runs");
  app.add_option("--coordinator-binary", daemon, "aqua-coordinator, for part memory");
  app.add_option("--json", json, "write the report");
  CLI11_PARSE(app, argc, argv);
  const auto wants = [&](const char* part) {
    return std::find(parts.begin(), parts.end(), part) != parts.end();
  };
  const Effort effort = quick ? Effort::quick() : Effort{};
  std::signal(SIGPIPE, SIG_IGN);  // a borrower that has died is told by what it does not answer
  std::optional<Coordinator> coordinator;
  std::optional<BorrowerProcess> borrower;
  if (wants("memory")) {
    coordinator.emplace(daemon);
    borrower.emplace(*coordinator);
  }
  nlohmann::json head = provenance(argc, argv);
  head.update(
      {{"benchmark", "layer_pool"},
       {"device", "emulated"},
       {"quick", quick},
       {"parts", parts},
       {"kernels", "waits in their stream, shorter by wake_delay_s, which sleeps are too long"},
       {"wake_delay_s", std::chrono::duration<double>(wake_delay()).count()}});
  Report report(json, std::move(head));
  if (wants("step")) measure_step(report, effort);
  if (wants("on_demand")) measure_on_demand(report, effort);
  if (wants("links")) measure_links(report, effort);
  if (wants("schedules")) measure_schedules(report, effort);
  if (wants("adaptive")) measure_adaptive(report, effort);
  if (wants("halved")) measure_halved(report, effort);
  if (wants("burst")) measure_burst(report, effort);
  if (wants("memory")) measure_memory(report, effort, *coordinator, *borrower);
  report.complete();
  print_goals(report.json()["goals"]);
  return 0;
}
