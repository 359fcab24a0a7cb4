// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace aqua::example {
namespace {

unsigned long mib(std::uint64_t bytes) {
  return static_cast<unsigned long>(bytes >> 20);
}
double gb(std::uint64_t bytes) {
  return static_cast<double>(bytes) / 1e9;
}

struct Sums {
  std::uint64_t resident = 0, preempted = 0, waiting = 0, tensors_peer = 0, tensors_host = 0;
  std::uint64_t moved = 0, verified = 0, wrong = 0, lent = 0;
  std::vector<double> slab_ms;
};

Sums add_up(Fleet& fleet) {
  Sums sums;
  for (const auto& consumer : fleet.consumers()) {
    const ConsumerStats& s = consumer.stats;
    sums.resident += s.resident;
    sums.preempted += s.preempted;
    sums.waiting += s.waiting;
    sums.tensors_peer += s.tensors.peer;
    sums.tensors_host += s.tensors.host;
    sums.moved +=
        s.swap.offloaded.sum() + s.swap.fetched.sum() + s.evacuated_bytes + s.promoted_bytes;
    sums.verified += s.verified();
    sums.wrong += s.mismatched();
  }
  for (const auto& producer : fleet.producers()) {
    sums.lent += producer.stats.lent_bytes;
    sums.verified += producer.stats.verified_bytes;
    sums.wrong += producer.stats.mismatched_bytes;
    const auto& more = producer.stats.slab_ms;
    sums.slab_ms.insert(sums.slab_ms.end(), more.begin(), more.end());
  }
  return sums;
}

void show_reclaim(const Sums& sums) {
  if (sums.slab_ms.empty()) return;
  std::printf(", reclaim p50 %.0f ms max %.0f ms", percentile(sums.slab_ms, 50),
              percentile(sums.slab_ms, 100));
}

void show_line(const Play& play, const Sums& sums, double seconds) {
  std::printf(
      "%5.1f s  %-10s %3lu of %lu requests done, %lu resident, %lu preempted; tensors: "
      "peer %lu host %lu MiB; lent %lu MiB; moved %.1f GB, checked %.1f GB, wrong %lu",
      seconds, to_string(play.act()).data(), play.requests_done(), play.requests_sent(),
      sums.resident, sums.preempted, mib(sums.tensors_peer), mib(sums.tensors_host), mib(sums.lent),
      gb(sums.moved), gb(sums.verified), sums.wrong);
  show_reclaim(sums);
  std::printf("\n");
}

constexpr const char* kClear = "\033[K\n";  // to the end of the line

int show_block(const Play& play, Fleet& fleet, const Sums& sums, double seconds) {
  std::printf("%5.1f s   %s%s", seconds, to_string(play.act()).data(), kClear);
  std::printf("requests  %lu of %lu done; %lu resident, %lu preempted, %lu waiting%s",
              play.requests_done(), play.requests_sent(), sums.resident, sums.preempted,
              sums.waiting, kClear);
  for (std::size_t i = 0; i < fleet.producers().size(); ++i) {
    const ProducerStats& s = fleet.producers()[i].stats;
    std::printf("emu:%zu     producer: %4lu MiB its own, %3lu MiB lent, of which %3lu MiB leased%s",
                i, mib(s.own_bytes), mib(s.lent_bytes), mib(s.held_bytes), kClear);
  }
  for (std::size_t i = 0; i < fleet.consumers().size(); ++i) {
    const ConsumerStats& s = fleet.consumers()[i].stats;
    std::printf(
        "emu:%zu     consumer: tensors in peer %3lu MiB, host %3lu MiB; evacuated %.2f GB, "
        "promoted %.2f GB%s",
        i + fleet.producers().size(), mib(s.tensors.peer), mib(s.tensors.host),
        gb(s.evacuated_bytes), gb(s.promoted_bytes), kClear);
  }
  std::printf("bytes     %.1f GB moved, %.1f GB checked, %lu wrong", gb(sums.moved),
              gb(sums.verified), sums.wrong);
  show_reclaim(sums);
  std::printf("%s", kClear);
  return static_cast<int>(3 + fleet.producers().size() + fleet.consumers().size());
}

}  // namespace

Progress::Progress() : terminal_(::isatty(STDOUT_FILENO) == 1) {}

void Progress::show(const Play& play, Fleet& fleet, double seconds) {
  if (seconds < next_) return;
  next_ = seconds + (terminal_ ? 0.2 : 1.0);
  const Sums sums = add_up(fleet);
  if (terminal_) {
    if (lines_shown_ > 0) std::printf("\033[%dA", lines_shown_);
    lines_shown_ = show_block(play, fleet, sums, seconds);
  } else {
    show_line(play, sums, seconds);
  }
  std::fflush(stdout);
}

double percentile(std::vector<double> samples, double percent) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  const double rank = std::ceil(percent / 100 * static_cast<double>(samples.size()));
  return samples[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

}  // namespace aqua::example
