// SPDX-License-Identifier: Apache-2.0
// run_program(): the main() of an example. Exit status: what `run` returns, 1 after a Failure,
// 2 for a wrong command line, 128 and its number after a stop signal (130: Ctrl-C).
#pragma once

#include <csignal>
#include <cstdio>
#include <exception>
#include <span>
#include <string_view>
#include <vector>

#include "must.hpp"
#include "tools/options/command_line.hpp"
#include "workplace.hpp"

namespace aqua::example {

// What an example is made of.
template <typename Options>
struct Program {
  const char* name;
  CommandLine (*line)(Options& options);  // fills `options`
  int (*run)(const Options& options);
  // Throws Failure where options do not go together; nullptr: they all do.
  void (*check)(const Options& options) = nullptr;
};

// Throws Failure naming the argument and what it should be.
template <typename Options>
Options parse(const Program<Options>& program, std::span<const std::string_view> arguments) {
  Options options;
  if (const auto parsed = program.line(options).parse(arguments); !parsed.ok())
    throw Failure(parsed.error().message);
  if (program.check != nullptr) program.check(options);
  return options;
}

template <typename Options>
int run_program(const Program<Options>& program, int argc, char** argv) {
  constexpr int kUsageError = 2;
  const std::vector<std::string_view> arguments(argv + 1, argv + (argc > 0 ? argc : 1));
  if (asks_for_help(arguments)) {
    Options options;
    std::fputs(program.line(options).help().c_str(), stdout);
    return 0;
  }
  int status = kUsageError;
  try {
    const Options options = parse(program, arguments);
    status = 1;
    (void)std::signal(SIGPIPE, SIG_IGN);
    return program.run(options);
  } catch (const Interrupted& stopped) {
    std::fprintf(stderr, "%s: %s\n", program.name, stopped.what());
    return 128 + stopped.signal;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program.name, error.what());
    return status;
  }
}

}  // namespace aqua::example
