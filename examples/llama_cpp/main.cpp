// SPDX-License-Identifier: Apache-2.0
// llama_cpp: one program, several roles. People start the engine; it starts the rest.
#include "disaggregate/roles.hpp"
#include "neighbour_role.hpp"
#include "options.hpp"
#include "play.hpp"
#include "program.hpp"

namespace aqua::llama_example {
namespace {

int run(const Options& options) {
  return options.disaggregate.part != Part::none ? run_part(options) : run_engine(options);
}

}  // namespace
}  // namespace aqua::llama_example

int main(int argc, char** argv) {
  using namespace aqua::llama_example;
  using aqua::example::run_role;
  return aqua::example::run_program<Options>(
      {"llama_cpp", options_line, run_role<Options, run>, check_options}, argc, argv);
}
