// SPDX-License-Identifier: Apache-2.0
// One check in a process of its own: what hangs is killed, and what loses its context or crashes
// takes no other check with it.
//
// Threads: free functions.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>

#include "tests/gpu/first_contact/check.hpp"

namespace aqua::first_contact {

struct Options {
  std::size_t mib = 256;  // of large pieces of memory
  // For one check; without persistence mode, opening a context is up to two seconds of it.
  std::chrono::seconds limit{10};
};

// A row of the report: "check", "kind", "asks", "answer" (yes, no, skipped), "detail", "figures",
// "seconds", and "otherwise" where the answer is no. Starts this very program with --check.
[[nodiscard]] nlohmann::json ask_apart(const Check& check, const Options& options);

// The program's exit status: of that process, which prints what ask_apart() reads.
[[nodiscard]] int answer_here(const Check& check, const Options& options);

}  // namespace aqua::first_contact
