// SPDX-License-Identifier: Apache-2.0
#include "disaggregate/roles.hpp"

#include "child_process.hpp"
#include "daemon_program.hpp"

namespace aqua::llama_example {

int run_part(const Options& options) {
  example::die_with_parent(options.role.parent);
  if (options.disaggregate.part == Part::keeper)
    example::become_keeper(options.disaggregate.keeper, options.role.directory);
  const Model model(model_file(options.model));
  if (options.disaggregate.part == Part::prefill) {
    run_prefill(options, model);
  } else {
    run_decode(options, model);
  }
  return 0;
}

}  // namespace aqua::llama_example
