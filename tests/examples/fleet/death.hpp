// SPDX-License-Identifier: Apache-2.0
// Who of a move dies or stops at which of its steps: a parameter of tests, with a name.
#pragma once

#include <signal.h>

#include <ostream>
#include <string>

namespace aqua::fleet::test {

struct Death {
  const char* who;  // "source" or "destination"
  const char* step;
  int signal;  // SIGKILL or SIGSTOP
  // Where the destination is stopped before: only then does the source come to its step.
  const char* destination_stops = "";
};

[[nodiscard]] inline std::string name_of(const Death& death) {
  return std::string(death.signal == SIGKILL ? "Killed_" : "Stopped_") + death.who + "_" +
         death.step;
}

inline void PrintTo(const Death& death, std::ostream* out) {
  *out << name_of(death);
}

}  // namespace aqua::fleet::test
