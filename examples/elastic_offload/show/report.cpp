// SPDX-License-Identifier: Apache-2.0
#include "show/report.hpp"

#include <algorithm>

#include "cache_shape.hpp"
#include "show/expansion.hpp"
#include "show/percentile.hpp"

namespace aqua::example {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLeastFetched = 1'000'000'000;  // bytes, from tensors

json add_up(const RunRecord& outcome) {
  ConsumerStats sum;
  std::uint64_t verified = 0, mismatched = 0, reclaims = 0;
  std::vector<double> slab_ms;
  for (const ConsumerStats& s : outcome.consumers) {
    sum.swap.offloaded += s.swap.offloaded;
    sum.swap.fetched += s.swap.fetched;
    sum.swap.verified += s.swap.verified;
    sum.swap.mismatched += s.swap.mismatched;
    sum.swap.preemptions += s.swap.preemptions;
    sum.recomputations += s.recomputations;
    sum.tokens += s.tokens;
    sum.verified_in_cache += s.verified_in_cache;
    sum.evacuations += s.evacuations;
    sum.evacuated_bytes += s.evacuated_bytes;
    sum.promotions += s.promotions;
    sum.promoted_bytes += s.promoted_bytes;
    sum.lost_tensors += s.lost_tensors;
    sum.submitted += s.submitted;
    sum.done += s.done;
    for (const auto& [sharing, times] : s.switched_to) sum.switched_to[sharing] += times;
    verified += s.verified();
    mismatched += s.mismatched();
  }
  std::uint64_t verified_by_producers = 0;
  for (const ProducerStats& s : outcome.producers) {
    verified_by_producers += s.verified_bytes;
    mismatched += s.mismatched_bytes;
    reclaims += s.reclaims;
    slab_ms.insert(slab_ms.end(), s.slab_ms.begin(), s.slab_ms.end());
  }
  return {
      {"verified_bytes", verified + verified_by_producers},
      {"mismatched_bytes", mismatched},
      {"verified",
       {{"fetched_from", sum.swap.verified},
        {"in_cache", sum.verified_in_cache},
        {"by_producers", verified_by_producers}}},
      {"offloaded_bytes", sum.swap.offloaded},
      {"fetched_bytes", sum.swap.fetched},
      {"evacuations", sum.evacuations},
      {"evacuated_bytes", sum.evacuated_bytes},
      {"promotions", sum.promotions},
      {"promoted_bytes", sum.promoted_bytes},
      {"lost_tensors", sum.lost_tensors},
      {"requests_lost", sum.submitted - sum.done},
      {"preemptions", sum.swap.preemptions},
      {"recomputations", sum.recomputations},
      {"switched_to", sum.switched_to},
      {"tokens", sum.tokens},
      {"reclaims", reclaims},
      {"reclaim_ms",
       {{"slabs", slab_ms.size()},
        {"first", percentile(slab_ms, 0)},
        {"p50", percentile(slab_ms, 50)},
        {"p99", percentile(slab_ms, 99)},
        {"max", percentile(slab_ms, 100)}}},
  };
}

json scaling(const Options& options, const Workload& work) {
  return {
      {"arrivals_faster", work.arrivals_faster},
      {"output_tokens_scale", work.output_scale},
      {"prompts_cut", work.prompts_cut},
      {"prompt_tokens_at_most", kMaxPromptTokens},
      {"outputs_cut", work.outputs_cut},
      {"output_tokens_at_most", kMaxOutputTokens},
      {"iteration_ms", options.iteration.count()},
      {"host_link_mb_per_s", options.host_link_mb_per_s},
      {"slice_iterations", kSliceIterations},
      {"batch_tokens", kBatchTokens},
      {"bytes_per_token", CacheShape::kBlockBytes / CacheShape::kTokensPerBlock},
      {"bytes_per_block", CacheShape::kBlockBytes},
      {"cache_bytes", options.expansion.on() ? kLayeredBytes : kCacheBytes},
      {"host_bytes", options.expansion.on() ? kLayeredHostBytes : kHostBytes},
      {"max_peer_bytes", kMaxPeerBytes},
      {"producer_bytes", kProducerBytes},
      {"slab_bytes", kSlabBytes},
  };
}

}  // namespace

json to_json(const RunRecord& outcome) {
  const AtReclaim& at = outcome.play.at_reclaim();
  json report = add_up(outcome);
  report["requests"] = outcome.work.items.size();
  report["requests_repeated"] = outcome.play.requests_sent() - outcome.work.items.size();
  const Comparison& compared = outcome.play.comparison();
  report["requests_to_compare"] =
      std::min(outcome.options.requests_to_compare(), outcome.work.items.size());
  if (compared.host() && compared.lent()) {
    report["comparison"] = {
        {"requests", compared.count()}, {"host", *compared.host()}, {"lent", *compared.lent()}};
  }
  report["requests_done"] = outcome.play.requests_done();
  report["peer_bytes_at_reclaim"] = at.peer_bytes;
  report["lent_bytes_at_reclaim"] = at.lent_bytes;
  report["memory_bytes_at_reclaim"] = at.memory_bytes;
  report["reclaim_at_seconds"] = at.seconds;
  report["reclaimed_from"] = "emu:" + std::to_string(at.producer);
  report["leased_again"] = outcome.play.leased_again();
  report["promotions_after_reclaim"] = outcome.play.promotions_after_reclaim();
  report["bytes_used_again"] = outcome.play.bytes_used_again();
  report["wall_seconds"] = outcome.wall_seconds;
  report["policy"] = outcome.options.policy;
  report["fallback_on_host"] = outcome.options.fallback;
  report["trace"] = outcome.work.source;
  report["scaling"] = scaling(outcome.options, outcome.work);
  if (outcome.options.expansion.on()) report["expansion"] = expansion_json(outcome);
  if (outcome.play.death().producer()) report["killed_lender"] = death_json(outcome.play);
  report["consumers"] = outcome.consumers;
  report["producers"] = outcome.producers;
  report["version"] = 1;
  report["ok"] = complaints(report).empty();
  return report;
}

namespace {

// Adds what makes the comparison no comparison of host memory alone with lent memory above it.
void check_comparison(const json& report, bool preempts_often, std::vector<std::string>& list) {
  if (report.at("requests_to_compare").get<std::uint64_t>() == 0) return;
  if (!report.contains("comparison")) {
    list.emplace_back("nothing was compared, though it was asked for");
    return;
  }
  const auto offloaded = [&](const char* serving) {
    return report.at("comparison").at(serving).at("offloaded_bytes").get<TierBytes>();
  };
  if (offloaded("host").peer != 0)
    list.emplace_back("lent memory was used while host memory alone was to be");
  // Those that preempt for memory only may do so before anything is leased.
  if (preempts_often && offloaded("lent").host > 0 && offloaded("lent").peer == 0)
    list.emplace_back("nothing was preempted into lent memory while it was compared");
}

}  // namespace

std::vector<std::string> complaints(const json& report) {
  std::vector<std::string> list;
  const auto at_least = [&](const char* name, std::uint64_t bound) {
    const auto value = report.at(name).get<std::uint64_t>();
    if (value >= bound) return;
    list.push_back(std::string(name) + " is " + std::to_string(value) + ", expected " +
                   std::to_string(bound) + " or more");
  };
  const auto zero = [&](const char* name) {
    const auto value = report.at(name).get<std::uint64_t>();
    if (value != 0) list.push_back(std::string(name) + " is " + std::to_string(value));
  };
  zero("mismatched_bytes");
  zero("lost_tensors");
  zero("requests_lost");
  check_expansion(report, list);
  at_least("reclaims", 1);
  if (!report.at("leased_again").get<bool>())
    list.push_back("what was reclaimed was not lent again");
  // Those that preempt for memory only may have little to bring back.
  const auto policy = report.at("policy").get<std::string>();
  const bool preempts_often = policy != "fcfs" && policy != "vtc";
  const auto fetched = report.at("verified").at("fetched_from").get<TierBytes>();
  const bool fewer = report.contains("expansion");  // more fit
  if (fetched.sum() < (preempts_often && !fewer ? kLeastFetched : 1)) {
    list.push_back("only " + std::to_string(fetched.sum()) + " bytes came back from tensors");
  }
  check_comparison(report, preempts_often, list);
  return list;
}

}  // namespace aqua::example
