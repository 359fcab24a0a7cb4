// SPDX-License-Identifier: Apache-2.0
// Outages of stages. A pipeline without one of its stages stands still: what was under way in it is
// lost, and begins again, as far as its recovery has to, when the stage is back.
#include <algorithm>

#include "base/concat.hpp"
#include "tools/sim/pipeline/server.hpp"

namespace aqua::sim {
namespace {

constexpr std::uint64_t kMostOutages = 10'000;  // of a run in which machines fail by chance

}  // namespace

Picos PipelineServer::next() const {
  if (out_.cut_off) return stopped_ ? kNever : 0;
  Picos at = came_ == requests_.size() ? kNever : requests_[came_].arrival;
  at = std::min(at, outages_.next());
  return std::min(at, std::ranges::min(down_until_));
}

void PipelineServer::act(Picos now, Picos /*horizon*/) {
  if (out_.cut_off) return stop(now);
  while (came_ < requests_.size() && requests_[came_].arrival <= now) ++came_;
  for (std::uint32_t i = 0; i < pipelines(); ++i) {
    if (down(i) && down_until_[i] <= now) resume(i, now);
  }
  while (outages_.next() <= now) {
    fail(outages_.take(), now);
    if (shape_.outage_rate && (out_.outages > kMostOutages || now > last_outage_))
      return give_up(now);
  }
  feed(now);
}

// What is left after an outage, and that outage itself, still has to end within virtual time.
Picos PipelineServer::last_outage(const PipelineShape& shape, const PassCost& cost,
                                  const std::vector<TraceRequest>& requests) {
  if (!shape.outage_rate) return kNever;
  return picos(kMostSeconds - makespan_bound(shape, cost, requests));
}

void PipelineServer::stop(Picos now) {
  stopped_ = true;
  for (std::uint32_t i = 0; i < pipelines(); ++i) stages_.abort(i, now);
}

void PipelineServer::give_up(Picos now) {
  stop(now);
  given_up_ = concat("machines fail too often: after ", out_.outages, " failures, at ",
                     seconds(now), " s, ", ended_, " of ", requests_.size(),
                     " requests have ended; a longer time between failures, or fewer requests");
}

// In the order in which they were formed.
std::vector<std::uint32_t> PipelineServer::slots_of(std::uint32_t pipeline) const {
  std::vector<std::uint32_t> slots;
  for (std::uint32_t slot = 0; slot < batches_.size(); ++slot) {
    if (batches_[slot].pipeline == pipeline && !batches_[slot].members.empty())
      slots.push_back(slot);
  }
  std::ranges::sort(slots, {}, [&](std::uint32_t slot) { return batches_[slot].number; });
  return slots;
}

// Restoring copies the stage's KV back from the next machine. The replica that was lost with it, of
// the stage before, is made anew while requests go on, which is not counted.
Picos PipelineServer::recovery_time(const Outage& outage) const {
  const RecoveryTimes& times = shape_.recovery_times;
  const bool standby = shape_.recovery == Recovery::restore_standby;
  Picos all = times.detection + (standby ? 0 : times.restart + times.weights);
  if (shape_.recovery < Recovery::restore || !shape_.links) return all;
  std::uint64_t tokens = 0;
  for (const std::uint32_t slot : slots_of(outage.pipeline)) {
    for (const Member& member : batches_[slot].members) tokens += member.held;
  }
  const std::uint64_t layers = stages_of(shape_.layers, shape_.token.depth)[outage.stage].count;
  const double bytes =
      static_cast<double>(tokens * layers) * static_cast<double>(shape_.layer_kv_bytes);
  return all + shape_.links->latency + picos(bytes / shape_.links->bytes_per_second);
}

void PipelineServer::fail(const Outage& outage, Picos now) {
  ++out_.outages;
  if (down(outage.pipeline)) out_.down -= down_until_[outage.pipeline] - now;
  down_until_[outage.pipeline] = now + recovery_time(outage);
  out_.down += down_until_[outage.pipeline] - now;
  stages_.abort(outage.pipeline, now);
}

void PipelineServer::resume(std::uint32_t pipeline, Picos now) {
  down_until_[pipeline] = kNever;
  for (const std::uint32_t slot : slots_of(pipeline)) {
    for (Member& member : batches_[slot].members) {
      const TraceRequest& request = requests_[member.request];
      member.recover(shape_.recovery, request.prompt_tokens, request.output_tokens);
    }
    go(slot, now);
  }
}

}  // namespace aqua::sim
