// SPDX-License-Identifier: Apache-2.0
// aqua-sim-server: a simulated engine to try `aqua profile` and `aqua-router` on.
#include <cstdio>
#include <string>
#include <vector>

#include "tools/options/command_line.hpp"
#include "tools/sim/input/spec_json.hpp"
#include "tools/sim_server/sim_server.hpp"

namespace {

struct Options {
  double speed = 1;
  int port = 0;
  std::string model = "llama-3-8b";
  std::string server = "a100";
  aqua::tool::SimManners manners{};
};

aqua::CommandLine line_of(Options& options) {
  aqua::CommandLine line("", R"(Usage: aqua-sim-server [options]

A simulated engine behind an OpenAI-compatible endpoint on this machine: something to try
`aqua profile` and `aqua-router` on. Prints its address and the options that aqua profile
needs for it. What it answers follows from the prompt's ids and the seed.)");
  line.number("--speed", options.speed, 1e-3, 1e4, "X", "its clock runs X times as fast as ours")
      .number("--port", options.port, 0, 65535, "N", "0: any that is free")
      .text("--model", options.model, "NAME|FILE", "a preset or a JSON file")
      .text("--server", options.server, "NAME|FILE", "a preset or a JSON file")
      .group("Manners, to try others on")
      .text("--name", options.manners.model, "NAME", "what it calls its model")
      .number("--tells-tokens", options.manners.told_tokens, 0, 1ULL << 50, "N",
              "says that its KV cache holds N tokens; 0: the truth")
      .number("--most", options.manners.most, 0, 1'000'000, "N",
              "refuses further requests while it has N; 0: never")
      .flag("--tells-no-ids", options.manners.tells_ids, "knows no return_token_ids", false);
  return line;
}

int complain(const aqua::Error& error, int status) {
  std::fprintf(stderr, "aqua-sim-server: %s\n", error.message.c_str());
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  Options options;
  aqua::CommandLine line = line_of(options);
  if (aqua::asks_for_help(arguments)) {
    std::fputs(line.help().c_str(), stdout);
    return 0;
  }
  if (const auto parsed = line.parse(arguments); !parsed.ok()) return complain(parsed.error(), 2);
  const auto model = aqua::sim::load_model(options.model);
  if (!model.ok()) return complain(model.error(), 2);
  const auto server = aqua::sim::load_server(options.server);
  if (!server.ok()) return complain(server.error(), 2);
  const auto ground = aqua::sim::resolve({.model = *model, .server = *server}, {});
  if (!ground.ok()) return complain(ground.error(), 1);
  aqua::tool::SimServer running(*ground, options.speed, options.port, options.manners);
  std::printf("%s --speed %g --bytes-per-token %.0f\n", running.url().c_str(), options.speed,
              model->kv_bytes_per_token());
  std::fflush(stdout);
  running.wait();
}
