// SPDX-License-Identifier: Apache-2.0
#include "show/live.hpp"

#include "show/text.hpp"

namespace aqua::example {
namespace {

unsigned long mib(std::uint64_t bytes) {
  return static_cast<unsigned long>(bytes >> 20);
}
double gb(std::uint64_t bytes) {
  return static_cast<double>(bytes) / 1e9;
}

template <typename... Values>
std::string cut(std::size_t columns, const char* format, Values... values) {
  return text(format, values...).substr(0, columns);
}

struct Sums {
  std::uint64_t resident = 0, preempted = 0, waiting = 0, peer = 0, host = 0;
  std::uint64_t moved = 0, verified = 0, wrong = 0, lent = 0;
};

Sums add_up(const Standing& now) {
  Sums sums;
  for (const ConsumerStats& s : now.consumers) {
    sums.resident += s.resident;
    sums.preempted += s.preempted;
    sums.waiting += s.waiting;
    sums.peer += s.tensors.peer;
    sums.host += s.tensors.host;
    sums.moved +=
        s.swap.offloaded.sum() + s.swap.fetched.sum() + s.evacuated_bytes + s.promoted_bytes;
    sums.verified += s.verified();
    sums.wrong += s.mismatched();
  }
  for (const ProducerStats& s : now.producers) {
    sums.lent += s.lent_bytes;
    sums.verified += s.verified_bytes;
    sums.wrong += s.mismatched_bytes;
  }
  return sums;
}

}  // namespace

Standing standing(const Play& play, Fleet& fleet, double seconds) {
  Standing now{.seconds = seconds,
               .act = std::string(to_string(play.act())),
               .sent = play.requests_sent(),
               .done = play.requests_done(),
               .consumers = {},
               .producers = {}};
  for (const auto& engine : fleet.consumers()) now.consumers.push_back(engine.stats);
  for (const auto& engine : fleet.producers()) now.producers.push_back(engine.stats);
  return now;
}

std::vector<std::string> live_block(const Standing& now, std::size_t columns) {
  const Sums sums = add_up(now);
  std::vector<std::string> lines;
  lines.push_back(cut(columns, "%6.1f s  %s", now.seconds, now.act.c_str()));
  lines.push_back(cut(columns, "requests  %lu of %lu done; %lu run, %lu preempted, %lu wait",
                      now.done, now.sent, sums.resident, sums.preempted, sums.waiting));
  std::size_t device = 0;
  for (const ProducerStats& s : now.producers) {
    lines.push_back(cut(columns, "emu:%zu     lends %4lu MiB, %4lu of them in use; keeps %4lu MiB",
                        device++, mib(s.lent_bytes), mib(s.held_bytes), mib(s.own_bytes)));
  }
  for (const ConsumerStats& s : now.consumers) {
    lines.push_back(
        cut(columns, "emu:%zu     preempted KV: %4lu MiB in lent memory, %4lu MiB in host memory",
            device++, mib(s.tensors.peer), mib(s.tensors.host)));
  }
  lines.push_back(cut(columns, "bytes     %.1f GB moved, %.1f GB checked, %lu wrong",
                      gb(sums.moved), gb(sums.verified), sums.wrong));
  return lines;
}

std::string live_line(const Standing& now, std::size_t columns) {
  const Sums sums = add_up(now);
  return cut(columns, "%6.1f s  %-10s %lu/%lu done; KV lent %lu host %lu MiB; %lu wrong",
             now.seconds, now.act.c_str(), now.done, now.sent, mib(sums.peer), mib(sums.host),
             sums.wrong);
}

std::string news_line(double seconds, const std::string& news, std::size_t columns) {
  return cut(columns, "%6.1f s  %s", seconds, news.c_str());
}

}  // namespace aqua::example
