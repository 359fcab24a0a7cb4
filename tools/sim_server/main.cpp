// SPDX-License-Identifier: Apache-2.0
// aqua-sim-server [SPEED [PORT [MODEL [SERVER]]]]: a simulated engine to try `aqua profile` on.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tools/sim/input/spec_json.hpp"
#include "tools/sim_server/sim_server.hpp"

int main(int argc, char** argv) {
  const auto argument = [&](int i, const char* otherwise) {
    return std::string(argc > i ? argv[i] : otherwise);
  };
  const double speed = std::atof(argument(1, "1").c_str());
  auto model = aqua::sim::load_model(argument(3, "llama-3-8b"));
  auto server = aqua::sim::load_server(argument(4, "a100"));
  if (!model.ok() || !server.ok() || speed <= 0) {
    std::fprintf(stderr, "usage: aqua-sim-server [SPEED [PORT [MODEL [SERVER]]]]\n");
    return 2;
  }
  const auto ground = aqua::sim::resolve({.model = *model, .server = *server}, {});
  if (!ground.ok()) {
    std::fprintf(stderr, "aqua-sim-server: %s\n", ground.error().message.c_str());
    return 1;
  }
  aqua::tool::SimServer running(*ground, speed, std::atoi(argument(2, "0").c_str()));
  std::printf("%s --speed %g --bytes-per-token %.0f\n", running.url().c_str(), speed,
              model->kv_bytes_per_token());
  std::fflush(stdout);
  running.wait();
}
