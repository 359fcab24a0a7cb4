// SPDX-License-Identifier: Apache-2.0
#include "coordinator_bench/options.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>

namespace aqua::bench {

BenchOptions parse_bench_options(int argc, char** argv) {
  BenchOptions options;
  bool quick = false;
  std::size_t seconds = 2;
  std::size_t open_seconds = 20;
  CLI::App app(
      "What the coordinator costs, against a bare cpp-httplib server in the same run.\n"
      "Parts: saturation  requests a second of many clients, over the bare server's\n"
      "       open-loop   1,000 requests a second on schedule, renewals and durable grants,\n"
      "                   with revocations under way\n"
      "       fan-out     one reclaim that revokes from all clients at once\n"
      "       scale       memory of leases; cost of a request by clients and by leases\n"
      "This process is the load generator; daemon and bare server are processes of their own.",
      "coordinator_bench");
  app.add_option("--coordinator-binary", options.binary, "the daemon")->check(CLI::ExistingFile);
  app.add_option("--directory", options.directory, "where data and sockets go; its disk counts")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  app.add_option("--only", options.only, "one part alone")
      ->check(CLI::IsMember({"saturation", "open-loop", "fan-out", "scale"}));
  app.add_option("--clients", options.clients, "of saturation and fan-out")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "repetitions")->check(CLI::Range(1, 1000));
  app.add_option("--seconds", seconds, "of one measurement")->check(CLI::Range(1, 600));
  app.add_option("--open-seconds", open_seconds, "of the open loop")->check(CLI::Range(1, 3600));
  app.add_flag("--quick", quick, "a look at each part; no figures to keep");
  app.add_option("--json", options.json, "write the result here, too");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& end) {
    std::exit(app.exit(end));
  }
  options.measure = std::chrono::seconds(seconds);
  options.open_loop = std::chrono::seconds(open_seconds);
  if (quick) {
    options.rounds = 2;
    options.measure = std::chrono::milliseconds{300};
    options.open_loop = std::chrono::milliseconds{3000};
  }
  return options;
}

}  // namespace aqua::bench
