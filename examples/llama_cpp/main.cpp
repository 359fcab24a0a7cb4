// llama_cpp: one program, three roles. People start the engine; it starts the rest.
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include "child_process.hpp"
#include "coordinator_program.hpp"
#include "lender.hpp"
#include "options.hpp"
#include "play.hpp"

namespace aqua::llama_example {
namespace {

int run(const Options& options) {
  (void)std::signal(SIGPIPE, SIG_IGN);
  if (options.role == Options::Role::engine) return run_engine(options);
  example::die_with_parent(options.parent);
  if (options.role == Options::Role::lender) return run_lender(options);
  example::become_coordinator(options.coordinator, options.directory);
}

int run_main(int argc, char** argv) {
  constexpr int kUsageError = 2;
  Options options;
  try {
    options = parse_options({argv + 1, argv + (argc > 0 ? argc : 1)});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "llama_cpp: %s\n", error.what());
    return kUsageError;
  }
  if (options.help) {
    std::fputs(std::string(usage()).c_str(), stdout);
    return 0;
  }
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "llama_cpp: %s\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace aqua::llama_example

int main(int argc, char** argv) {
  return aqua::llama_example::run_main(argc, argv);
}
