// SPDX-License-Identifier: Apache-2.0
// why(): the sentence about how a scheduler shares, with the figures that decide it.
#include <cmath>
#include <limits>

#include "aqua/schedule/scheduler.hpp"
#include "base/concat.hpp"

namespace aqua::schedule {
namespace {

double in_tenths(double value) {
  return std::round(10 * value) / 10;
}

std::string turns(const SchedulerStatus& status) {
  const std::string asked = concat(status.paced, " at their pace ask for ",
                                   in_tenths(status.asked_per_second), " tokens a second, ");
  const std::string sustained =
      status.sustained_per_second > 0
          ? concat(in_tenths(status.sustained_per_second), " are sustained")
          : std::string("what is sustained is not known yet");
  const bool partial = status.sharing == Sharing::partial;
  return asked + sustained + (partial ? concat("; ", status.backlog, " in the backlog") : "");
}

std::string deciding_figures(const SchedulerStatus& status) {
  switch (status.sharing) {
    case Sharing::fixed:
      break;
    case Sharing::whole:
      return concat(status.paced + status.backlog, " answer, ", status.device_blocks_held, " of ",
                    status.device_blocks, " blocks are held");
    case Sharing::fair:
    case Sharing::partial:
      return turns(status);
    case Sharing::none: {
      const bool endless = status.swap_blocks == std::numeric_limits<std::uint32_t>::max();
      return concat(status.swap_blocks_held, endless ? "" : concat(" of ", status.swap_blocks),
                    " blocks of it are held");
    }
  }
  return {};
}

}  // namespace

std::string why(const SchedulerStatus& status) {
  const std::string figures = deciding_figures(status);
  const std::string sentence(why(status.sharing));
  return figures.empty() ? sentence : concat(sentence, " (", figures, ")");
}

}  // namespace aqua::schedule
