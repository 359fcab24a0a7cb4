// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "harness.hpp"
#include "report/goal.hpp"
#include "report/report_file.hpp"
#include "stream_bench/replication.hpp"
#include "stream_bench/streams.hpp"

using aqua::bench::Bound, aqua::bench::judge, aqua::bench::Keeper;
using Json = nlohmann::json;

int main(int argc, char** argv) {
  std::string keeper, courier, certificates, json;
  unsigned rounds = 20;
  CLI::App app(
      "Steps of a stage with its KV replicated, and prefill with its KV streamed, over the same "
      "without; and streaming without each of its optimisations.");
  app.add_option("--keeper-binary", keeper, "aqua-keeper")->required();
  app.add_option("--courier-binary", courier, "aqua-courier")->required();
  app.add_option("--certificates-binary", certificates, "aqua-courier-certificates")->required();
  app.add_option("--rounds", rounds)->check(CLI::Range(1, 1000));
  app.add_option("--json", json, "a file for the report");
  CLI11_PARSE(app, argc, argv);
  const Keeper running(keeper), on_disk(keeper, {"--disk", "%/disk"});
  const Json streams = aqua::bench::measure_streams(running.socket(), rounds);
  const Json steps = aqua::bench::measure_replication(running.socket(), rounds);
  const Json kept = aqua::bench::measure_replication(on_disk.socket(), rounds);
  const Json mirrored = aqua::bench::measure_mirrored(keeper, courier, certificates, rounds);
  const auto of = [](const Json& part, const char* key) { return part.at(key).get<double>(); };
  std::printf("a step %.2f ms, replicated %.2f ms; engine held up %.1f us (p99 %.1f)\n",
              of(steps, "seconds_step") * 1e3, of(steps, "seconds_step_replicated") * 1e3,
              of(steps, "seconds_engine_held_up") * 1e6,
              of(steps, "seconds_engine_held_up_p99") * 1e6);
  std::printf("prefill %.2f ms, streamed %.2f ms, landed after %.2f; behind the last layer %.2f\n",
              of(streams, "seconds_prefill") * 1e3, of(streams, "seconds_prefill_streamed") * 1e3,
              of(streams, "seconds_to_land_layer_by_layer") * 1e3,
              of(streams, "seconds_to_land_at_the_end") * 1e3);
  std::printf("ready KV is kept after %.2f ms, by a copy for each block of a layer %.2f\n",
              of(streams, "seconds_to_keep_by_layer") * 1e3,
              of(streams, "seconds_to_keep_by_block") * 1e3);
  const auto cost = [&](const Json& part) { return part.at("replicated_over_bare"); };
  Json goals = streams.at("goals");
  goals.push_back(
      judge("generation with replication over without", Bound::at_most, 1.02, cost(steps)));
  goals.push_back(judge("... with the keeper's disk", Bound::at_most, 1.02, cost(kept)));
  goals.push_back(judge("... with copies at another keeper", Bound::at_most, 1.02, cost(mirrored)));
  aqua::bench::print_goals(goals);
  aqua::bench::write_report(json, {{"streams", streams},
                                   {"replication", steps},
                                   {"replication_on_disk", kept},
                                   {"replication_mirrored", mirrored},
                                   {"goals", goals}});
  return 0;
}
