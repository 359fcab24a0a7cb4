// long_context: one program, three roles. People start the engine; it starts the rest.
#include "options.hpp"
#include "play.hpp"
#include "program.hpp"

namespace aqua::long_context {
namespace {

int run(const Options& options) {
  if (options.role.kind != example::NeighbourRole::Kind::none) {
    return example::run_neighbour(options.role);
  }
  return run_engine(options);
}

}  // namespace
}  // namespace aqua::long_context

int main(int argc, char** argv) {
  using namespace aqua::long_context;
  return aqua::example::run_program<Options>({"long_context", parse_options, usage, run}, argc,
                                             argv);
}
