// SPDX-License-Identifier: Apache-2.0
#include "prefix_comparison.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "neighbours.hpp"
#include "summary.hpp"
#include "tensor_parking.hpp"

namespace aqua::llama_example {
namespace {

using nlohmann::json;

std::size_t most_prompt_tokens(const std::vector<Asked>& load) {
  std::size_t most = 0;
  for (const Asked& asked : load) most = std::max(most, asked.prompt.size());
  return most;
}

std::unique_ptr<example::Neighbours> start_neighbours(const Model& model,
                                                      const ServeOptions& options,
                                                      const std::vector<Asked>& load) {
  const std::size_t lent = example::whole_slabs(options.swap_mib << 20U);
  const std::size_t paged =
      (most_prompt_tokens(load) + kTokensPerBlock) * model.kv_bytes_per_token();
  RuntimeOptions borrower;
  borrower.name = "llama_serve";
  borrower.host_bytes = lent;  // an exit for all
  borrower.emulated.total_bytes = example::whole_slabs(paged + example::kNeighbourSlabBytes);
  return std::make_unique<example::Neighbours>(options.role.coordinator, lent, borrower);
}

// Blocks of which sequences may be paged out at once. An eighth is left for what llama.cpp writes
// about its cells, and for gaps between tensors.
std::uint32_t swap_blocks(const Model& model, std::size_t bytes) {
  return static_cast<std::uint32_t>(bytes / 8 * 7 / (kTokensPerBlock * model.kv_bytes_per_token()));
}

json to_json(const Serving::Run& run, const TensorParking::Stats& parking) {
  std::vector<double> waits;
  double end = 0;
  std::uint64_t computed = 0;
  for (const LoggedRequest& request : run.log.requests) {
    waits.push_back(request.first_token - request.arrival);
    end = std::max(end, request.end);
  }
  for (const LoggedIteration& iteration : run.log.iterations) computed += iteration.tokens;
  json ttft = example::summary(waits);
  ttft["mean"] =
      std::accumulate(waits.begin(), waits.end(), 0.0) / static_cast<double>(waits.size());
  return {{"seconds", end},
          {"ttft_s", ttft},
          {"computed_tokens", computed},
          {"parked_in_peer", parking.parked_in_peer},
          {"parked_in_host", parking.parked_in_host}};
}

json cache_json(const Serving::Run& run, const std::vector<Asked>& load, std::size_t blocks) {
  const PrefixUse& use = run.prefixes;
  std::size_t prompt_tokens = 0;
  for (const Asked& asked : load) prompt_tokens += asked.prompt.size();
  return {{"hits", use.hits_in_peer + use.hits_in_host},
          {"hits_in_lent_memory", use.hits_in_peer},
          {"hits_in_host_memory", use.hits_in_host},
          {"hits_lost", use.lost_hits},
          {"hit_tokens", use.hit_tokens},
          {"prompt_tokens", prompt_tokens},
          {"blocks_stored", use.stored_blocks},
          {"blocks_given_up", use.stored_blocks - std::min(use.stored_blocks, blocks)},
          {"fetch_seconds", use.fetch_seconds},
          {"store_seconds", use.store_seconds}};
}

// Batches depend on the clock, and rounding on batches: answers differ between any two runs now and
// then. Those after a hit should do so no more often than the others.
json equal_answers(const RunLog& without, const RunLog& with) {
  std::size_t equal[2] = {}, all[2] = {};
  for (std::size_t i = 0; i < with.requests.size(); ++i) {
    const unsigned hit = with.requests[i].cached_tokens > 0 ? 1 : 0;
    equal[hit] += with.requests[i].answer == without.requests[i].answer ? 1U : 0U;
    all[hit] += 1;
  }
  return {{"after_a_hit", {{"equal", equal[1]}, {"all", all[1]}}},
          {"others", {{"equal", equal[0]}, {"all", all[0]}}}};
}

void print(const json& report) {
  std::printf("%-8s %10s %10s %10s %10s %10s %12s\n", "cache", "TTFT mean", "median", "p99",
              "all, s", "computed", "page-outs");
  for (const char* name : {"without", "with"}) {
    const json& run = report.at(name);
    const json& ttft = run.at("ttft_s");
    std::printf(
        "%-8s %10.3f %10.3f %10.3f %10.1f %10zu %12zu\n", name, ttft.at("mean").get<double>(),
        ttft.at("median").get<double>(), ttft.at("p99").get<double>(),
        run.at("seconds").get<double>(), run.at("computed_tokens").get<std::size_t>(),
        run.at("parked_in_peer").get<std::size_t>() + run.at("parked_in_host").get<std::size_t>());
  }
  const json& cache = report.at("prefix_cache");
  const auto of = [&](const char* key) { return cache.at(key).get<std::size_t>(); };
  const auto requests = report.at("requests").get<std::size_t>();
  std::printf(
      "%zu hits of %zu requests (%zu in lent memory, %zu in host memory), %zu lost: ", of("hits"),
      requests, of("hits_in_lent_memory"), of("hits_in_host_memory"), of("hits_lost"));
  std::printf("%zu of %zu prompt tokens fetched\n", of("hit_tokens"), of("prompt_tokens"));
  std::printf("%zu blocks stored, %zu of them given up\n", of("blocks_stored"),
              of("blocks_given_up"));
  const auto equal = [&](const char* which, const char* count) {
    return report.at("answers").at(which).at(count).get<std::size_t>();
  };
  std::printf("equal answers: %zu of %zu after a hit, %zu of %zu others\n",
              equal("after_a_hit", "equal"), equal("after_a_hit", "all"), equal("others", "equal"),
              equal("others", "all"));
}

}  // namespace

json compare_with_prefix_cache(const Model& model, const ServeOptions& options,
                               const std::vector<Asked>& load) {
  Serving serving(model, options, load);
  const auto neighbours = start_neighbours(model, options, load);
  Runtime& runtime = neighbours->runtime();
  const std::uint32_t blocks = swap_blocks(model, options.swap_mib << 20U);

  TensorParking plain(runtime, serving.engine());
  const Serving::Run without =
      serving.run({.parking = plain, .tier = Tier::peer, .blocks = blocks});
  CachedPrompts prefixes(runtime, serving.sample_state(),
                         {.block_tokens = options.block, .most_tokens = most_prompt_tokens(load)});
  TensorParking before_prefixes(runtime, serving.engine(), [&](const TensorOptions& wanted) {
    return prefixes.cache().allocate(wanted);
  });
  const Serving::Run with = serving.run({.parking = before_prefixes,
                                         .tier = Tier::peer,
                                         .blocks = blocks,
                                         .prefixes = &prefixes,
                                         .lose_hits = options.lose_hits});

  json report{{"benchmark", "llama_prefix_cache"},
              {"engine", without.log.engine},
              {"policy", options.policy},
              {"requests", load.size()},
              {"rate", options.rate},
              {"groups", options.groups},
              {"shared_tokens", options.shared},
              {"block_tokens", options.block},
              {"swap_mib", options.swap_mib},
              {"without", to_json(without, plain.stats())},
              {"with", to_json(with, before_prefixes.stats())},
              {"prefix_cache", cache_json(with, load, prefixes.cache().index().blocks())},
              {"answers", equal_answers(without.log, with.log)}};
  print(report);
  return report;
}

}  // namespace aqua::llama_example
