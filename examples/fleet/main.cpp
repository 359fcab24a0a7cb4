// SPDX-License-Identifier: Apache-2.0
// fleet_engine: an engine behind aqua-router whose answers move over a KV pool.
#include <cstdio>

#include "aqua/runtime.hpp"
#include "options.hpp"
#include "program.hpp"
#include "serve/door.hpp"
#include "serve/engine.hpp"

namespace aqua::fleet {
namespace {

using namespace aqua::literals;
using example::must;

int run(const Options& options) {
  Options given = options;
  given.cache.model.query_heads = 2 * given.cache.model.kv_heads;
  if (given.cache.keeper.empty()) given.cache.own_blocks = given.blocks;
  Inbox inbox;
  Runtime runtime =
      must(Runtime::open(
               {.device = given.device,
                .coordinator = given.coordinator,
                .name = "fleet-engine-" + given.cache.role,
                .host_bytes = 2_MiB,
                .curve_directory = "off",
                .emulated = {.total_bytes = std::size_t{1} << 40},
                .callbacks = {.on_budget =
                                  [&inbox](const MemoryBudget&) { inbox.post(MemoryNews{}); }}}),
           "runtime");
  Engine engine(runtime, inbox, given);
  Door door(engine, given);
  std::printf("http://127.0.0.1:%d\n", door.port());
  std::fflush(stdout);
  const std::string why = engine.wait();
  door.stop();
  if (why.empty()) return 0;
  std::fprintf(stderr, "fleet_engine: %s\n", why.c_str());
  return 1;
}

}  // namespace
}  // namespace aqua::fleet

int main(int argc, char** argv) {
  using namespace aqua::fleet;
  return aqua::example::run_program<Options>({"fleet_engine", options_line, run, check_options},
                                             argc, argv);
}
