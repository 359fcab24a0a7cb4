// SPDX-License-Identifier: Apache-2.0
#include "roles.hpp"

#include <unistd.h>

#include "child_process.hpp"
#include "daemon_program.hpp"
#include "must.hpp"
#include "serve/stage.hpp"

namespace aqua::pipeline {
namespace {

using namespace aqua::literals;

void say(const Wired& wired) {
  if (!example::write_line(STDOUT_FILENO, wired))
    throw example::Failure("the orchestrator hears no more");
}

// Wired under one term. Returns what run() does; where a neighbour dies, the next order to wire
// anew, which the orchestrator gives then.
std::optional<Rewire> serve(Stage& stage, const Options& options, unsigned term, Orders& orders) {
  try {
    Wiring wiring(options.place, options.directory, term);
    say({.term = term, .connected = false});
    const auto order = orders.next();
    if (!order) return {};
    if (order->contains("listen")) return order->get<Rewire>();
    const auto connect = order->get<Connect>();
    stage.keep(connect.sequences);
    wiring.connect(orders.fd());
    say({.term = term, .connected = true});
    return stage.run(wiring, orders);
  } catch (const NeighbourGone&) {
    // Its own links are closed by now: those who wait for this process hear of it, too.
  }
  while (const auto order = orders.next()) {
    if (order->contains("listen")) return order->get<Rewire>();
  }
  return {};
}

}  // namespace

int run_role(const Options& options) {
  example::die_with_parent(options.parent);
  if (options.keeper_role) example::become_keeper(options.keeper, options.directory);
  Runtime runtime = example::must(Runtime::open({.device = "emu:0",
                                                 .coordinator = "none",
                                                 .host_bytes = 2_MiB,
                                                 .curve_directory = "off"}),
                                  "runtime");
  Orders orders(STDIN_FILENO);
  Stage stage(runtime, options);
  for (std::optional<Rewire> next{{options.term}}; next;)
    next = serve(stage, options, next->listen, orders);
  return 0;
}

}  // namespace aqua::pipeline
