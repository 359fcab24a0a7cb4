// SPDX-License-Identifier: Apache-2.0
// fleet_llama: as fleet_engine, with a real model.
#include "compute/llama.hpp"
#include "engine_program.hpp"
#include "must.hpp"
#include "program.hpp"

namespace aqua::fleet {
namespace {

int run(const LlamaOptions& options) {
  return run_engine(options, [&](Runtime& runtime) {
    return std::make_unique<LlamaModel>(runtime,
                                        LlamaModel::Options{.file = options.file,
                                                            .keeper = options.cache.keeper,
                                                            .threads = options.threads,
                                                            .rows = options.budget_tokens});
  });
}

void check(const LlamaOptions& options) {
  if (options.file.empty()) throw example::Failure("--model has to be given");
  check_options(options);
}

}  // namespace
}  // namespace aqua::fleet

int main(int argc, char** argv) {
  using namespace aqua::fleet;
  return aqua::example::run_program<LlamaOptions>({"fleet_llama", llama_line, run, check}, argc,
                                                  argv);
}
