// SPDX-License-Identifier: Apache-2.0
// What `aqua calibrate` shows of measured curves.
#pragma once

#include <string>

#include "transfer/planner.hpp"

namespace aqua::tool {

struct CurveReport {
  std::string device{};
  std::string driver{};
  transfer::CurveSet curves{};
  transfer::WaySet possible{};
  std::size_t bytes = std::size_t{64} << 20;  // of each transfer shown
};

// For each link and direction, GB/s by piece size and way, and the planner's choice.
[[nodiscard]] std::string render_table(const CurveReport& report);
// The same as a plot of characters: piece size to the right, GB/s upwards, both logarithmic;
// each way by its first letter.
[[nodiscard]] std::string render_plot(const CurveReport& report);
// {"device","driver","bytes","links":[{link,direction,"points":[{way,piece_bytes,bytes,ns}],
//   "table":[{piece_bytes,choice,"gbps":{way:...}}]}]}
[[nodiscard]] std::string render_json(const CurveReport& report);
// What the planner would do with `bytes` in blocks of `block`, on every measured link.
[[nodiscard]] std::string render_explanation(const CurveReport& report, std::size_t bytes,
                                             std::size_t block);
// As one object a link and direction: {link,direction,bytes,pieces,way,reason,seconds:{...}}.
[[nodiscard]] std::string render_explanation_json(const CurveReport& report, std::size_t bytes,
                                                  std::size_t block);

}  // namespace aqua::tool
