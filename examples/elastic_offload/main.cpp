// elastic_offload: one program, four roles. People start the orchestrator; it starts the rest.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include "child_process.hpp"
#include "options.hpp"
#include "roles.hpp"

namespace aqua::example {
namespace {

int run(const Options& options) {
  (void)std::signal(SIGPIPE, SIG_IGN);
  if (options.role == Options::Role::orchestrator) return run_orchestrator(options);
  die_with_parent(options.parent);
  switch (options.role) {
    case Options::Role::producer:
      return run_producer(options);
    case Options::Role::consumer:
      return run_consumer(options);
    default:
      return run_coordinator(options);
  }
}

int run_main(int argc, char** argv) {
  constexpr int kUsageError = 2;
  Options options;
  try {
    options = parse_options({argv + 1, argv + (argc > 0 ? argc : 1)});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "elastic_offload: %s\n", error.what());
    return kUsageError;
  }
  if (options.help) {
    std::fputs(std::string(usage()).c_str(), stdout);
    return 0;
  }
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "elastic_offload: %s\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace aqua::example

int main(int argc, char** argv) {
  return aqua::example::run_main(argc, argv);
}
