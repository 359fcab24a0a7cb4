// SPDX-License-Identifier: Apache-2.0
// elastic_offload: one program, four roles. People start the orchestrator; it starts the rest.
#include "child_process.hpp"
#include "options.hpp"
#include "program.hpp"
#include "roles.hpp"

namespace aqua::example {
namespace {

int run(const Options& options) {
  if (options.role == Options::Role::orchestrator) return run_orchestrator(options);
  die_with_parent(options.parent);
  switch (options.role) {
    case Options::Role::producer:
      return run_producer(options);
    case Options::Role::consumer:
      return run_consumer(options);
    default:
      return run_coordinator(options);
  }
}

}  // namespace
}  // namespace aqua::example

int main(int argc, char** argv) {
  using namespace aqua::example;
  return run_program<Options>({"elastic_offload", options_line, run}, argc, argv);
}
