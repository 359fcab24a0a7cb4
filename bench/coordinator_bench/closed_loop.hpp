// SPDX-License-Identifier: Apache-2.0
// A closed loop: each of a number of actors asks again as soon as it is answered, which shows
// how much a server can do.
//
// Threads: one.
#pragma once

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "coordinator_bench/actor.hpp"
#include "coordinator_bench/server.hpp"

namespace aqua::bench {

using Actors = std::vector<std::unique_ptr<Actor>>;

struct Load {
  double per_second = 0;  // replies, without upkeep
  double cpu_us = 0;      // the server's processor time for each, upkeep included
  double median_us = 0;   // from sending to the last byte of the reply
  double p99_us = 0;
};
[[nodiscard]] nlohmann::json to_json(const Load& load);

// Keeps `width` of the actors' requests under way, in turn, for a fifth of `duration` to warm up
// and then for `duration`, which is measured. A reply other than 200 ends this process.
[[nodiscard]] Load closed_loop(const Server& server, const Actors& actors, std::size_t width,
                               std::chrono::milliseconds duration);

}  // namespace aqua::bench
