// llama_cpp: one program, three roles. People start the engine; it starts the rest.
#include "options.hpp"
#include "play.hpp"
#include "program.hpp"

namespace aqua::llama_example {
namespace {

int run(const Options& options) {
  if (options.role.kind != example::NeighbourRole::Kind::none) {
    return example::run_neighbour(options.role);
  }
  return run_engine(options);
}

}  // namespace
}  // namespace aqua::llama_example

int main(int argc, char** argv) {
  using namespace aqua::llama_example;
  return aqua::example::run_program<Options>({"llama_cpp", parse_options, usage, run}, argc, argv);
}
