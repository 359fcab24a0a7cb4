// SPDX-License-Identifier: Apache-2.0
// prefill_decode: one program, several roles. People start the play; it starts the rest.
#include "play/play.hpp"
#include "program.hpp"
#include "roles.hpp"

namespace aqua::prefill_decode {
namespace {

int run(const Options& options) {
  return options.kind == Options::Kind::main ? play(options) : run_role(options);
}

}  // namespace
}  // namespace aqua::prefill_decode

int main(int argc, char** argv) {
  using namespace aqua::prefill_decode;
  return aqua::example::run_program<Options>({"prefill_decode", options_line, run, check_options},
                                             argc, argv);
}
