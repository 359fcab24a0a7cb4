// SPDX-License-Identifier: Apache-2.0
#include "requests.hpp"

namespace aqua::example {

void Requests::deal(std::vector<WorkItem> items, bool go) {
  std::vector<nlohmann::json> hands(fleet_.consumers().size(), nlohmann::json::array());
  for (WorkItem& item : items) {
    item.id = sent_;
    hands[sent_++ % hands.size()].push_back(item);
  }
  for (std::size_t i = 0; i < hands.size(); ++i) {
    (void)fleet_.consumers()[i].process.send({{"do", "submit"}, {"go", go}, {"items", hands[i]}});
  }
}

std::uint64_t Requests::done() const {
  std::uint64_t done = 0;
  for (const auto& consumer : fleet_.consumers()) done += consumer.stats.done;
  return done;
}

}  // namespace aqua::example
