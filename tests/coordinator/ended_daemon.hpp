// SPDX-License-Identifier: Apache-2.0
// A daemon that is expected to end by itself, and what it said.
//
// Threads: one.
#pragma once

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/base/temp_dir.hpp"
#include "tests/coordinator/child_process.hpp"

namespace aqua::testing {

struct Ended {
  int status;
  std::string output;  // the first line
  std::string errors;
};

inline Ended run_daemon(std::vector<std::string> arguments) {
  const TempDir dir;
  arguments.insert(arguments.begin(), AQUA_COORDINATOR_PROGRAM);
  ChildProcess process(arguments, dir / "errors");
  Ended ended;
  ended.output = process.read_line();
  ended.status = process.wait();
  std::ifstream file(dir / "errors");
  ended.errors = {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return ended;
}

}  // namespace aqua::testing
