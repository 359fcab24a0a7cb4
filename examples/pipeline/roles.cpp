// SPDX-License-Identifier: Apache-2.0
#include "roles.hpp"

#include <unistd.h>

#include "child_process.hpp"
#include "must.hpp"
#include "serve/stage.hpp"

namespace aqua::pipeline {

using namespace aqua::literals;

int run_stage(const Options& options) {
  example::die_with_parent(options.parent);
  Runtime runtime = example::must(Runtime::open({.device = "emu:0",
                                                 .coordinator = "none",
                                                 .host_bytes = 2_MiB,
                                                 .curve_directory = "off"}),
                                  "runtime");
  Wiring wiring(options.place, options.directory);
  Orders orders(STDIN_FILENO);
  (void)example::write_line(STDOUT_FILENO, {{"ready", true}});
  if (!orders.next()) return 0;  // the first one says that all processes listen
  try {
    wiring.connect();
    Stage(runtime, options, wiring, orders).run();
  } catch (const NeighbourGone&) {
    return kNeighbourGoneStatus;  // the orchestrator says who it was
  }
  return 0;
}

}  // namespace aqua::pipeline
