// SPDX-License-Identifier: Apache-2.0
// Linked with the router's main: the first time that it comes to the step $AQUA_DIES_AT it raises
// the signal whose number is $AQUA_DIES_OF, on whatever thread that is.
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "base/environment.hpp"
#include "base/step.hpp"

namespace aqua::fleet::test {
namespace {

void die(const char* step) {
  static const std::string at = environment("AQUA_DIES_AT");
  static std::atomic<bool> over{false};
  if (step == at && !over.exchange(true)) ::raise(std::atoi(environment("AQUA_DIES_OF").c_str()));
}

[[maybe_unused]] const bool kSet = [] {
  step_hook = die;
  return true;
}();

}  // namespace
}  // namespace aqua::fleet::test
