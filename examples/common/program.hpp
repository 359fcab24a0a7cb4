// SPDX-License-Identifier: Apache-2.0
// run_program(): the main() of an example. Exit status: what `run` returns, 1 after a Failure,
// 2 for a wrong command line.
#pragma once

#include <csignal>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>

namespace aqua::example {

// What an example is made of. Options has a flag `help`.
template <typename Options>
struct Program {
  const char* name;
  Options (*parse)(std::span<const char* const> arguments);
  std::string_view (*usage)();
  int (*run)(const Options& options);
};

template <typename Options>
int run_program(const Program<Options>& program, int argc, char** argv) {
  constexpr int kUsageError = 2;
  const auto complain = [&](const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program.name, error.what());
  };
  Options options;
  try {
    options = program.parse({argv + 1, argv + (argc > 0 ? argc : 1)});
  } catch (const std::exception& error) {
    complain(error);
    return kUsageError;
  }
  if (options.help) {
    std::fputs(std::string(program.usage()).c_str(), stdout);
    return 0;
  }
  try {
    (void)std::signal(SIGPIPE, SIG_IGN);
    return program.run(options);
  } catch (const std::exception& error) {
    complain(error);
    return 1;
  }
}

}  // namespace aqua::example
