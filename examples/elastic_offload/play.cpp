// SPDX-License-Identifier: Apache-2.0
#include "play.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "show/percentile.hpp"

namespace aqua::example {
namespace {

constexpr std::uint64_t kAlwaysInHand = 72;  // requests; fewer would leave lent memory empty
// At the longest, in seconds: waiting for memory to fill once enough requests are done, for it to
// be used again after a reclaim, for that once it has been leased again, and for a dead lender's to
// be left. On an idle machine each takes a few.
constexpr double kLongestFilling = 30;
constexpr double kLongestSettling = 60;
constexpr double kLongestUnused = 6;
constexpr double kLongestLeaving = 20;

// Shares of the changes of frames that are asked for: how many there may be before the reclaim, and
// before a lender's death.
constexpr double kResizedFilling = 0.25, kResizedBeforeDeath = 0.5;

std::string mib(std::uint64_t bytes) {
  return std::to_string(bytes >> 20) + " MiB";
}

}  // namespace

std::string_view to_string(Act act) {
  switch (act) {
    case Act::comparing:
      return "comparing";
    case Act::filling:
      return "filling";
    case Act::reclaiming:
      return "reclaiming";
    case Act::settling:
      return "settling";
    case Act::killing:
      return "killing";
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
      requests_(fleet),
      comparison_(work, options.requests_to_compare(), fleet, requests_),
      death_(fleet),
      recoveries_(fleet.consumers().size()) {}

void Play::enter(Act act, double seconds) {
  act_ = act;
  since_ = seconds;
}

void Play::follow(double seconds) {
  if (act_ > Act::filling) {
    for (std::size_t i = 0; i < recoveries_.size(); ++i) {
      recoveries_[i].note(fleet_.consumers()[i].stats);
    }
  }
  const auto& lender = fleet_.producers()[at_reclaim_.producer].stats;
  const std::string name = "emu:" + std::to_string(at_reclaim_.producer);
  switch (act_) {
    case Act::comparing:
      compare(seconds);
      break;
    case Act::filling:
      if (ready_to_reclaim(seconds)) surge(seconds);
      break;
    case Act::reclaiming:
      if (lender.reclaims == 0) break;
      news_.push_back(name + " has all of it back, " +
                      std::to_string(std::lround(percentile(lender.slab_ms, 100))) +
                      " ms after it asked");
      news_.push_back("settling: when its load has fallen, " + name + " lends again");
      enter(Act::settling, seconds);
      break;
    case Act::settling:
      if (leased_again() && !lent_again_) lent_again_ = seconds;
      if (bytes_used_again() == 0 && seconds < since_ + kLongestSettling &&
          seconds < lent_again_.value_or(seconds) + kLongestUnused) {
        break;
      }
      if (options_.kills_lender()) {
        kill(seconds);
      } else if (resizes() >= options_.least_resizes()) {
        drain(seconds);
      }
      break;
    case Act::killing:
      dead_lender_left_ = dead_lender_left_ || death_.left();
      if (!dead_lender_left_ && seconds < since_ + kLongestLeaving) break;
      if (resizes() >= options_.least_resizes()) drain(seconds);
      break;
    case Act::draining:
      if (requests_done() == requests_sent()) enter(Act::over, seconds);
      break;
    case Act::over:
      break;
  }
  if (act_ > Act::comparing && act_ < Act::draining) top_up();
}

void Play::compare(double seconds) {
  comparison_.follow(seconds);
  const auto part = comparison_.part();
  const bool next = part != std::exchange(told_, part);
  const std::string requests = std::to_string(comparison_.count()) + " requests";
  if (next && part == Comparison::Part::host) {
    news_.push_back("comparing: " + requests + " with host memory alone");
  } else if (next && part == Comparison::Part::lent) {
    news_.push_back("comparing: the same " + requests + " with lent memory above it");
  } else if (part == Comparison::Part::over) {
    news_.push_back("filling: " + std::to_string(work_.items.size()) +
                    " requests; what is preempted fills the lent memory");
    compared_ = requests_.sent();
    requests_.deal(work_.items, true);
    let_resize(kResizedFilling);
    enter(Act::filling, seconds);
  }
}

bool Play::ready_to_reclaim(double seconds) {
  const double wanted = options_.reclaim_after * static_cast<double>(work_.items.size());
  if (static_cast<double>(requests_done()) < wanted) return false;
  if (!enough_done_) enough_done_ = seconds;
  std::uint64_t peer_bytes = 0;
  for (const auto& consumer : fleet_.consumers()) peer_bytes += consumer.stats.tensors.peer;
  return peer_bytes >= (options_.reclaim_at() << 20) || seconds > *enough_done_ + kLongestFilling;
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
  news_.push_back("reclaiming: the load of emu:" + std::to_string(at_reclaim_.producer) +
                  " rises, it wants its " + mib(at_reclaim_.lent_bytes) + " back");
  let_resize(options_.kills_lender() ? kResizedBeforeDeath : 1);
  enter(Act::reclaiming, seconds);
}

void Play::kill(double seconds) {
  death_.kill(seconds);
  news_.push_back("killing: emu:" + std::to_string(*death_.producer()) + " dies by SIGKILL, " +
                  mib(death_.held_bytes()) + " of its memory are in use");
  let_resize(1);
  enter(Act::killing, seconds);
}

void Play::drain(double seconds) {
  news_.push_back(bytes_used_again() > 0
                      ? "draining: lent memory is in use again; the rest completes"
                      : "draining: nothing had to be lent again; the rest completes");
  enter(Act::draining, seconds);
}

// So that some changes fall into each act.
void Play::let_resize(double share) {
  const double until = std::ceil(static_cast<double>(options_.least_resizes()) * share /
                                 static_cast<double>(fleet_.consumers().size()));
  if (until == 0) return;
  for (auto& consumer : fleet_.consumers()) {
    (void)consumer.process.send({{"do", "resize"}, {"until", static_cast<std::uint64_t>(until)}});
  }
}

std::uint64_t Play::resizes() const {
  std::uint64_t sum = 0;
  for (const auto& consumer : fleet_.consumers()) sum += consumer.stats.expansion.resizes;
  return sum;
}

void Play::top_up() {
  std::vector<WorkItem> more;
  for (std::uint64_t i = requests_.sent() - requests_.done(); i < kAlwaysInHand; ++i) {
    WorkItem item = work_.items[(requests_.sent() + more.size()) % work_.items.size()];
    item.arrival_ms = 0;  // now
    more.push_back(item);
  }
  if (!more.empty()) requests_.deal(std::move(more), false);
}

std::vector<std::string> Play::news() {
  return std::exchange(news_, {});
}

std::uint64_t Play::requests_sent() const {
  return act_ == Act::comparing ? comparison_.count() : requests_.sent() - compared_;
}

std::uint64_t Play::requests_done() const {
  return act_ == Act::comparing ? comparison_.done() : requests_.done() - compared_;
}

bool Play::leased_again() const {
  return std::ranges::any_of(recoveries_, &Recovery::leased_again);
}

std::uint64_t Play::promotions_after_reclaim() const {
  return std::accumulate(
      recoveries_.begin(), recoveries_.end(), std::uint64_t{0},
      [](std::uint64_t sum, const Recovery& each) { return sum + each.promotions(); });
}

std::uint64_t Play::bytes_used_again() const {
  return std::accumulate(
      recoveries_.begin(), recoveries_.end(), std::uint64_t{0},
      [](std::uint64_t sum, const Recovery& each) { return sum + each.bytes_used(); });
}

}  // namespace aqua::example
