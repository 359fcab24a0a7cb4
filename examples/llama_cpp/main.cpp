// SPDX-License-Identifier: Apache-2.0
// llama_cpp: one program, three roles. People start the engine; it starts the rest.
#include "neighbour_role.hpp"
#include "options.hpp"
#include "play.hpp"
#include "program.hpp"

int main(int argc, char** argv) {
  using namespace aqua::llama_example;
  using aqua::example::run_role;
  return aqua::example::run_program<Options>(
      {"llama_cpp", options_line, run_role<Options, run_engine>}, argc, argv);
}
