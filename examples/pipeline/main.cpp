// SPDX-License-Identifier: Apache-2.0
// pipeline: one program, two roles. People start the play; it starts a process for each stage and
// rank.
#include "play/play.hpp"
#include "program.hpp"
#include "roles.hpp"

namespace aqua::pipeline {
namespace {

int run(const Options& options) {
  const bool role = options.stage_role || options.keeper_role || options.courier_role ||
                    options.coordinator_role || options.host_role || options.etcd_role;
  return role ? run_role(options) : play(options);
}

}  // namespace
}  // namespace aqua::pipeline

int main(int argc, char** argv) {
  using namespace aqua::pipeline;
  return aqua::example::run_program<Options>({"pipeline", options_line, run, check_options}, argc,
                                             argv);
}
