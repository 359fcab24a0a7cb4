// SPDX-License-Identifier: Apache-2.0
#include "engine_program.hpp"

#include <cstdio>

#include "must.hpp"
#include "serve/engine.hpp"
#include "serve/engine_server.hpp"

namespace aqua::fleet {

using namespace aqua::literals;
using example::must;

int run_engine(const Options& options,
               const std::function<std::unique_ptr<Model>(Runtime&)>& make_model) {
  Options given = options;
  if (!given.cache.has_pool()) given.cache.own_blocks = given.blocks;
  Inbox inbox;
  Runtime runtime = must(
      Runtime::open(
          {.device = given.device,
           .coordinator = given.coordinator,
           .name = "fleet-engine-" + given.cache.role,
           .host_bytes = 2_MiB,
           .curve_directory = "off",
           .emulated = {.total_bytes = 64_GiB, .link_bytes_per_second = 1000 * given.link_kb_per_s},
           .callbacks = {.on_budget =
                             [&inbox](const MemoryBudget&) { inbox.post(MemoryNews{}); }}}),
      "runtime");
  const std::unique_ptr<Model> model = make_model(runtime);
  Engine engine(runtime, inbox, *model, given);
  EngineServer server(engine, *model, given);
  std::printf("http://%s:%d\n", given.address.c_str(), server.port());
  std::fflush(stdout);
  const std::string why = engine.wait();
  server.stop();
  if (why.empty()) return 0;
  std::fprintf(stderr, "engine %s: %s\n", given.cache.role.c_str(), why.c_str());
  return 1;
}

}  // namespace aqua::fleet
