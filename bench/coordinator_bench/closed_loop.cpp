// SPDX-License-Identifier: Apache-2.0
#include "coordinator_bench/closed_loop.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>

#include "samples.hpp"

namespace aqua::bench {
namespace {

class Loop {
 public:
  Loop(const Server& server, const Actors& actors, std::size_t width)
      : server_(server), width_(std::min(width, actors.size())) {
    for (const auto& actor : actors) ready_.push_back(actor.get());
  }

  void run(Clock::duration duration) {
    const auto until = Clock::now() + duration;
    while (Clock::now() < until) {
      while (http_.in_flight() < width_) ask();
      http_.turn(until);
    }
  }
  // Replies that are still to come, so that every actor may go on another time.
  void drain() {
    while (http_.in_flight() > 0) http_.turn(Clock::now() + std::chrono::seconds{60});
  }
  [[nodiscard]] std::vector<double>& times_us() { return times_us_; }

 private:
  void ask() {
    Actor* const actor = ready_.front();
    ready_.pop_front();
    const Ask& ask = actor->next();
    const auto sent = Clock::now();
    http_.ask(server_.address, ask.text, [this, actor, sent, kind = ask.kind](const Reply& reply) {
      if (reply.status != 200) {
        std::fprintf(stderr, "status %d: %.*s\n", reply.status, static_cast<int>(reply.body.size()),
                     reply.body.data());
        std::exit(1);
      }
      if (kind != Kind::upkeep)
        times_us_.push_back(std::chrono::duration<double, std::micro>(reply.at - sent).count());
      actor->took(reply);
      ready_.push_back(actor);
    });
  }

  const Server& server_;
  const std::size_t width_;
  HttpLoop http_;
  std::deque<Actor*> ready_;
  std::vector<double> times_us_;
};

}  // namespace

nlohmann::json to_json(const Load& load) {
  return {{"per_second", load.per_second},
          {"server_cpu_us", load.cpu_us},
          {"median_us", load.median_us},
          {"p99_us", load.p99_us}};
}

Load closed_loop(const Server& server, const Actors& actors, std::size_t width,
                 std::chrono::milliseconds duration) {
  Loop loop(server, actors, width);
  loop.run(duration / 5);
  loop.times_us().clear();
  const double cpu = cpu_seconds(server.pid);
  const auto start = Clock::now();
  loop.run(duration);
  const std::chrono::duration<double> took = Clock::now() - start;
  const auto count = static_cast<double>(std::max<std::size_t>(loop.times_us().size(), 1));
  const Load load{.per_second = count / took.count(),
                  .cpu_us = (cpu_seconds(server.pid) - cpu) * 1e6 / count,
                  .median_us = median(loop.times_us()),
                  .p99_us = quantile(loop.times_us(), 0.99)};
  loop.drain();
  return load;
}

}  // namespace aqua::bench
