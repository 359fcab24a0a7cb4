// SPDX-License-Identifier: Apache-2.0
// From what was measured to what is told: role and bytes (Aqua, section 4).
#include <algorithm>

#include "base/concat.hpp"
#include "northbound/profile_fields.hpp"
#include "tools/profiler/search/batch_search.hpp"
#include "tools/profiler/search/record.hpp"

namespace aqua::profiler {
namespace {

std::size_t whole(double bytes) {
  return static_cast<std::size_t>(std::clamp(bytes, 0.0, profile::kMostBytes));
}

struct Use {
  double pool = 0, peak = 0;
  bool known = false;      // the peak
  std::size_t faults = 0;  // of its readings
};

Use of_rate(Record& record) {
  Use use;
  double engine = 0, client = 0, queue = 0;
  for (const Probe& probe : record.evidence.probes) {
    use.pool = std::max(use.pool, probe.pool_bytes);
    if (!same_rate(probe.rate, record.profile.max_rps) || !probe.met || !probe.whole) continue;
    use.known = true;
    engine = std::max(engine, probe.peak_bytes);
    client = std::max(client, probe.client_bytes);
    queue = std::max(queue, probe.queue_length);
    use.faults += probe.memory_faults;
  }
  const bool told = record.evidence.memory == "client" || engine >= client / 2;
  warn(record.evidence, "memory",
       told ? ""
            : concat("the engine told of ", engine, " bytes of KV at most, while the requests in ",
                     "flight had ", client,
                     ": its figures are not believed; is --bytes-per-token right?"));
  record.profile.queue_length = queue;
  use.peak = std::max(engine, client);
  return use;
}

// What was used at the batch that max_rps comes from, by the same rule.
Use of_batch(const Evidence& evidence) {
  Use use;
  BatchSearch search(evidence.batches.back().batch);
  for (const Batch& batch : evidence.batches) {
    use.pool = std::max(use.pool, batch.pool_bytes);
    search.told(batch.throughput);
    if (search.best() != batch.batch) continue;
    use.peak = batch.peak_bytes;
    use.faults = batch.memory_faults;
    use.known = true;
  }
  return use;
}

double swap_needed(const Evidence& evidence) {
  double most = evidence.prefix_swap_bytes;
  for (const Burst& burst : evidence.bursts) most = std::max(most, burst.swap_bytes);
  return std::max(most, evidence.long_prompt_swap_bytes);
}

}  // namespace

void conclude(Record& record) {
  Profile& profile = record.profile;
  const bool batches = !record.evidence.batches.empty();
  const Use use = batches ? of_batch(record.evidence) : of_rate(record);
  warn(record.evidence, "readings",
       use.faults == 0
           ? ""
           : concat(use.faults, " readings of the engine's memory failed at that load: ",
                    "the peak may have been higher"));
  profile.kv_bytes = whole(use.pool);
  // Nothing is known to be free where no whole load was served as it should be.
  const bool served = use.known && profile.max_rps > 0;
  profile.free_bytes = served ? whole(use.pool - use.peak) : 0;
  profile.swap_bytes = whole(swap_needed(record.evidence));
  profile.role = ProfileRole::neutral;
  if (served && profile.kv_bytes > 0 && profile.free_bytes >= profile.threshold_bytes) {
    profile.role = ProfileRole::producer;
  } else if (profile.swap_bytes > 0) {
    profile.role = ProfileRole::consumer;
  }
}

}  // namespace aqua::profiler
