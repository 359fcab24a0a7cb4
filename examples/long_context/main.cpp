// SPDX-License-Identifier: Apache-2.0
// long_context: one program, three roles. People start the engine; it starts the rest.
#include "neighbour_role.hpp"
#include "options.hpp"
#include "play.hpp"
#include "program.hpp"

int main(int argc, char** argv) {
  using namespace aqua::long_context;
  using aqua::example::run_role;
  return aqua::example::run_program<Options>(
      {"long_context", options_line, run_role<Options, run_engine>, check_options}, argc, argv);
}
