// SPDX-License-Identifier: Apache-2.0
#include "play.hpp"

#include <algorithm>

namespace aqua::example {
namespace {

constexpr std::uint64_t kAlwaysInHand = 72;  // requests; fewer would leave lent memory empty

}  // namespace

std::string_view to_string(Act act) {
  switch (act) {
    case Act::filling:
      return "filling";
    case Act::reclaiming:
      return "reclaiming";
    case Act::settling:
      return "settling";
    case Act::draining:
      return "draining";
    case Act::over:
      return "over";
  }
  return "over";
}

Play::Play(const Options& options, const Workload& work, Fleet& fleet)
    : options_(options),
      work_(work),
      fleet_(fleet),
      promotions_when_empty_(fleet.consumers().size()) {}

void Play::begin() {
  deal(work_.items);
  for (auto& consumer : fleet_.consumers()) (void)consumer.process.send({{"do", "go"}});
}

// In turn, one to each consumer. What cannot be sent is noticed as the death of its reader.
void Play::deal(std::vector<WorkItem> items) {
  std::vector<nlohmann::json> hands(fleet_.consumers().size(), nlohmann::json::array());
  for (WorkItem& item : items) {
    item.id = sent_;
    hands[sent_++ % hands.size()].push_back(item);
  }
  for (std::size_t i = 0; i < hands.size(); ++i) {
    (void)fleet_.consumers()[i].process.send({{"do", "submit"}, {"items", hands[i]}});
  }
}

void Play::follow(double seconds) {
  switch (act_) {
    case Act::filling:
      if (ready_to_reclaim()) surge(seconds);
      break;
    case Act::reclaiming:
      note_emptied();
      if (fleet_.producers()[at_reclaim_.producer].stats.reclaims > 0) act_ = Act::settling;
      break;
    case Act::settling:
      note_emptied();
      if (promotions_after_reclaim() > 0) act_ = Act::draining;
      break;
    case Act::draining:
      if (requests_done() == sent_) act_ = Act::over;
      break;
    case Act::over:
      break;
  }
  if (act_ < Act::draining) top_up();
}

bool Play::ready_to_reclaim() const {
  std::uint64_t peer_bytes = 0;
  for (const auto& consumer : fleet_.consumers()) peer_bytes += consumer.stats.tensors.peer;
  const double wanted = options_.reclaim_after * static_cast<double>(work_.items.size());
  return peer_bytes >= (options_.reclaim_at_mib << 20) &&
         static_cast<double>(requests_done()) >= wanted;
}

void Play::surge(double seconds) {
  auto& producers = fleet_.producers();
  const auto chosen = std::ranges::max_element(
      producers, {}, [](const auto& producer) { return producer.stats.held_bytes; });
  at_reclaim_.seconds = seconds;
  at_reclaim_.producer = static_cast<std::size_t>(chosen - producers.begin());
  at_reclaim_.lent_bytes = chosen->stats.lent_bytes;
  for (const auto& consumer : fleet_.consumers()) {
    at_reclaim_.peer_bytes += consumer.stats.tensors.peer;
  }
  at_reclaim_.memory_bytes = fleet_.memory_bytes();
  (void)chosen->process.send({{"do", "surge"}, {"ms", kSurge.count()}});
  act_ = Act::reclaiming;
}

void Play::note_emptied() {
  for (std::size_t i = 0; i < promotions_when_empty_.size(); ++i) {
    const ConsumerStats& stats = fleet_.consumers()[i].stats;
    if (stats.leased_bytes == 0 && !promotions_when_empty_[i]) {
      promotions_when_empty_[i] = stats.promotions;
    }
  }
}

void Play::top_up() {
  const std::uint64_t in_hand = sent_ - requests_done();
  std::vector<WorkItem> more;
  for (std::uint64_t i = in_hand; i < kAlwaysInHand; ++i) {
    WorkItem item = work_.items[(sent_ + more.size()) % work_.items.size()];
    item.arrival_ms = 0;  // now
    more.push_back(item);
  }
  if (!more.empty()) deal(std::move(more));
}

std::uint64_t Play::requests_done() const {
  std::uint64_t done = 0;
  for (const auto& consumer : fleet_.consumers()) done += consumer.stats.done;
  return done;
}

std::uint64_t Play::promotions_after_reclaim() const {
  std::uint64_t promotions = 0;
  for (std::size_t i = 0; i < promotions_when_empty_.size(); ++i) {
    const auto& before = promotions_when_empty_[i];
    if (before) promotions += fleet_.consumers()[i].stats.promotions - *before;
  }
  return promotions;
}

}  // namespace aqua::example
