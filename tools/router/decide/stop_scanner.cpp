// SPDX-License-Identifier: Apache-2.0
#include "tools/router/decide/stop_scanner.hpp"

#include <algorithm>
#include <utility>

namespace aqua::router {
namespace {

// The length of the longest ending of `text` with which `stop` begins.
std::size_t begun(std::string_view text, std::string_view stop) {
  for (std::size_t n = std::min(text.size(), stop.size() - 1); n > 0; --n) {
    if (text.ends_with(stop.substr(0, n))) return n;
  }
  return 0;
}

}  // namespace

StopScanner::StopScanner(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
}

std::string StopScanner::feed(std::string_view text) {
  if (stopped_) return {};
  kept_ += text;
  std::size_t first = kept_.npos;
  std::size_t hold = 0;
  for (const std::string& stop : stops_) {
    first = std::min(first, kept_.find(stop));
    hold = std::max(hold, begun(kept_, stop));
  }
  stopped_ = first != kept_.npos;
  const std::size_t said = stopped_ ? first : kept_.size() - hold;
  std::string out = kept_.substr(0, said);
  kept_.erase(0, said);
  return out;
}

std::string StopScanner::finish() {
  return stopped_ ? std::string() : std::exchange(kept_, {});
}

}  // namespace aqua::router
