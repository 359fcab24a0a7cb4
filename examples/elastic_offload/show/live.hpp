// SPDX-License-Identifier: Apache-2.0
// The lines that a run shows of itself while it goes on.
#pragma once

#include <string>
#include <vector>

#include "play.hpp"

namespace aqua::example {

// How things stand, summed over the engines.
struct Standing {
  double seconds = 0;
  std::string act;
  std::uint64_t sent = 0, done = 0;  // requests
  std::vector<ConsumerStats> consumers;
  std::vector<ProducerStats> producers;
};
[[nodiscard]] Standing standing(const Play& play, Fleet& fleet, double seconds);

// A block to be rewritten in place: always as many lines, each cut to `columns`.
[[nodiscard]] std::vector<std::string> live_block(const Standing& now, std::size_t columns);
// The same in one line.
[[nodiscard]] std::string live_line(const Standing& now, std::size_t columns);
// "12.1 s  the news"
[[nodiscard]] std::string news_line(double seconds, const std::string& news, std::size_t columns);

}  // namespace aqua::example
