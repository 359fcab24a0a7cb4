// SPDX-License-Identifier: Apache-2.0
// Steps are the named points of a move at which tests kill or stop an engine.
//
// Threads: one.
#pragma once

#include <csignal>
#include <string>
#include <string_view>
#include <utility>

namespace aqua::fleet {

class Steps {
 public:
  // At the first time of `step` the process raises `signal`. "": never.
  Steps(std::string step, int signal) : step_(std::move(step)), signal_(signal) {}
  void reached(std::string_view step) {
    if (step_ != step) return;
    step_.clear();
    (void)std::raise(signal_);
  }

 private:
  std::string step_;
  int signal_;
};

}  // namespace aqua::fleet
