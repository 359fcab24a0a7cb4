// SPDX-License-Identifier: Apache-2.0
// What the lender does while conversations are served: takes everything back in the middle, and
// lends it again when that is over. The engine never waits for it.
//
// Threads: the engine's.
#pragma once

#include <nlohmann/json.hpp>

#include "neighbours.hpp"
#include "schedule.hpp"

namespace aqua::llama_example {

class ReclaimPlot {
 public:
  explicit ReclaimPlot(example::Neighbours& neighbours) : neighbours_(neighbours) {}
  // After every round of tokens.
  void follow(const Progress& progress);
  // Waits for what has not been answered yet. What came of it.
  [[nodiscard]] nlohmann::json end();

 private:
  enum class Act { before, asked, home, lent_again };
  void take_answer(const Progress& progress);

  example::Neighbours& neighbours_;
  Act act_ = Act::before;
  Progress last_;
  nlohmann::json report_;
};

}  // namespace aqua::llama_example
