// SPDX-License-Identifier: Apache-2.0
// What is left with keepers as a run ends: nothing, where all has ended in peace.
//
// Threads: one. Errors: Failure; example::Interrupted.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "aqua/handoff/segments.hpp"
#include "play/daemons.hpp"
#include "play/serving.hpp"
#include "workplace.hpp"

namespace aqua::pipeline {

class Leftovers {
 public:
  // Both outlive it.
  Leftovers(Daemons& daemons, const example::StopSignals& stop) : daemons_(daemons), stop_(stop) {}

  // Returns once the keeper of that server has no segment that is meant. Only the keeper knows;
  // what it has for longer look() tells.
  void await_none(const std::filesystem::path& server,
                  const std::function<bool(const SegmentStatus&)>& is_meant) const;
  // Asks the keepers what is left. Where a process was killed as all ended, nobody has replaced it,
  // and what it had is left by right.
  void look(Served& served, bool in_peace, const std::vector<std::filesystem::path>& servers) const;

 private:
  void await_keeper() const;

  Daemons& daemons_;
  const example::StopSignals& stop_;
};

}  // namespace aqua::pipeline
