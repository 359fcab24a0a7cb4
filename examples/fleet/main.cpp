// SPDX-License-Identifier: Apache-2.0
// fleet_engine: an engine behind aqua-router whose answers move over a KV pool.
#include "compute/toy.hpp"
#include "engine_program.hpp"
#include "program.hpp"

namespace aqua::fleet {
namespace {

int run(const ToyOptions& options) {
  pipeline::ModelShape shape = options.model;
  shape.query_heads = 2 * shape.kv_heads;
  return run_engine(options, [&](Runtime&) {
    return std::make_unique<ToyModel>(shape, options.cache.tokens_per_block);
  });
}

void check(const ToyOptions& options) {
  check_options(options);
}

}  // namespace
}  // namespace aqua::fleet

int main(int argc, char** argv) {
  using namespace aqua::fleet;
  return aqua::example::run_program<ToyOptions>({"fleet_engine", toy_line, run, check}, argc, argv);
}
