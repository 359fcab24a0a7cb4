// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/pipeline/search.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/report/text.hpp"
#include "tools/sim/pipeline/serving.hpp"
#include "tools/sim/report/metrics.hpp"

namespace aqua::sim {
namespace {

constexpr std::size_t kWithoutLinks = 100;  // splits that are played so, the quickest by plan
constexpr std::size_t kWithLinks = 3;
constexpr std::string_view kChunked = "+chunked";

bool may_fail(const PipelineQuestion& question) {
  return !question.outages.empty() || question.outage_mean_seconds > 0;
}

// Whether what fails by the question can fail in this split.
bool has_stages(const kv_stream::Split& split, const PipelineQuestion& question) {
  if (may_fail(question) && split.prompt.pipelines > 0) return false;
  return std::ranges::all_of(question.outages, [&](const Outage& outage) {
    return outage.pipeline < split.token.pipelines && outage.stage < split.token.depth;
  });
}

// Those of the policy that fit and have the stages that fail, with every microbatch, quickest
// first.
Result<std::vector<kv_stream::Split>> splits_to_play(const PipelineQuestion& question,
                                                     const PipelinePolicy& policy) {
  std::vector<kv_stream::PlanInput> inputs{question.input};
  for (const kv_stream::MicrobatchCost& one : question.input.microbatches) {
    if (question.input.microbatches.size() == 1) break;
    inputs.push_back(question.input);
    inputs.back().microbatches = {one};
  }
  std::vector<kv_stream::Split> all;
  bool without_stages = false;
  std::set<std::string> known;
  for (const kv_stream::PlanInput& input : inputs) {
    AQUA_ASSIGN(const auto splits, kv_stream::explain(input));
    std::size_t taken = 0;
    for (const kv_stream::Split& split : splits) {
      if (split.policy != policy.split || !split.fits) continue;
      if (question.all_machines && split.machines != input.machines) continue;
      if (!has_stages(split, question)) {
        without_stages = true;
        continue;
      }
      if (++taken > 2 * kWithoutLinks) break;
      if (known.insert(kv_stream::describe(split)).second) all.push_back(split);
    }
  }
  std::ranges::stable_sort(all, {}, &kv_stream::Split::seconds_per_request);
  if (all.size() > kWithoutLinks) all.resize(kWithoutLinks);
  if (!all.empty()) return all;
  if (without_stages) {
    return Error{Code::resource_exhausted,
                 concat("pipelines: no split of ", policy.name,
                        " has the stages that fail; outages are of colocated pipelines")};
  }
  return Error{Code::resource_exhausted,
               concat("pipelines: ", policy.name, " does not fit on ", question.input.machines,
                      question.input.machines == 1 ? " machine" : " machines")};
}

Result<PipelineOutcome> play(const PipelineQuestion& question, const PipelinePolicy& policy,
                             const kv_stream::Split& split, std::uint64_t seed, bool links,
                             bool timeline, const RunLimit& limit = {}) {
  PipelineLoad load = question.load;
  load.microbatch = std::min(split.token.microbatch, 32U);
  AQUA_ASSIGN(const auto requests, pipeline_requests(question.trace, load, seed));
  PipelineShape shape = shape_of(question.ground, question.input, split);
  if (!links) shape.links.reset();
  shape.ending = policy.chunked ? Ending::refill : question.ending;
  shape.chunk_tokens = policy.chunked ? question.chunk_tokens : 0;
  shape.open = load.per_second > 0;
  shape.skip = question.skip;
  shape.timeline = timeline;
  shape.outages = question.outages;
  if (question.outage_mean_seconds > 0)
    shape.outage_rate = {.mean_seconds = question.outage_mean_seconds, .seed = seed};
  shape.recovery = question.recovery;
  shape.recovery_times = question.recovery_times;
  return serve(shape, question.cost, requests, limit);
}

// What is to be small.
double objective(const PipelineQuestion& question, const PipelineOutcome& outcome) {
  if (question.load.per_second > 0) return normalised_latency(outcome, 0.5);
  return seconds(outcome.makespan);
}

bool ruled_out(Result<PipelineOutcome>& played, Error& why) {
  if (played.ok() || played.error().code != Code::resource_exhausted) return false;
  why = std::move(played).error();
  return true;
}

struct Scores {
  std::vector<std::pair<double, kv_stream::Split>> best{};  // what is to be small, smallest first
  std::size_t pruned = 0;  // splits that are none of the best kWithLinks: not played to their end
};

// `prune`: a split is played only as long as it may be among the best kWithLinks.
Result<Scores> play_without_links(const PipelineQuestion& question, const PipelinePolicy& policy,
                                  const std::vector<kv_stream::Split>& splits, std::uint64_t seed,
                                  bool prune, Error& no_room) {
  constexpr double kRounding = 1e-6;  // seconds
  const bool open = question.load.per_second > 0;
  Scores scores;
  for (const kv_stream::Split& split : splits) {
    double least = 0;  // whatever the simulation without links says
    if (question.links && split.prompt.pipelines > 0 && !open)
      least = split.seconds_per_request * static_cast<double>(question.load.requests);
    RunLimit limit;
    if (prune && scores.best.size() >= kWithLinks) {
      const double most = scores.best[kWithLinks - 1].first + kRounding;
      if (least > most) {
        ++scores.pruned;
        continue;
      }
      if (open) {
        limit.median_latency = most;
      } else {
        limit.makespan = picos(most);
      }
    }
    auto played = play(question, policy, split, seed, false, false, limit);
    if (ruled_out(played, no_room)) continue;
    AQUA_ASSIGN(const PipelineOutcome outcome, std::move(played));
    if (outcome.cut_off) {
      ++scores.pruned;
      continue;
    }
    const double score = std::max(objective(question, outcome), least);
    const auto place = std::ranges::upper_bound(scores.best, score, {},
                                                &std::pair<double, kv_stream::Split>::first);
    scores.best.emplace(place, score, split);
  }
  return scores;
}

}  // namespace

Result<std::vector<PipelinePolicy>> parse_pipeline_policies(std::string_view names) {
  std::vector<std::string_view> columns;
  report::split_columns(names, columns);
  std::vector<PipelinePolicy> policies;
  for (const std::string_view name : columns) {
    PipelinePolicy policy{.name = std::string(name)};
    std::string_view split = name;
    policy.chunked = split.ends_with(kChunked);
    if (policy.chunked) split.remove_suffix(kChunked.size());
    std::string known;
    bool found = false;
    for (std::uint8_t i = 0; i < 4; ++i) {
      const auto of = static_cast<kv_stream::Policy>(i);
      known += concat(known.empty() ? "" : ", ", to_string(of));
      if (to_string(of) != split || (policy.chunked && i > 1)) continue;
      policy.split = of;
      found = true;
    }
    if (!found) {
      return Error{Code::invalid_argument,
                   concat("no policy ", report::shown(name), " of pipelines: there are ", known,
                          "; the first two also with +chunked")};
    }
    if (std::ranges::find(policies, policy.name, &PipelinePolicy::name) != policies.end()) {
      return Error{Code::invalid_argument,
                   concat("policy ", report::shown(name), " of pipelines is named twice")};
    }
    policies.push_back(std::move(policy));
  }
  return policies;
}

double normalised_latency(const PipelineOutcome& outcome, double q) {
  std::vector<double> all;
  for (const RequestOutcome& request : outcome.requests) {
    all.push_back(request.latency() / request.output_tokens);
  }
  return quantile(all, q);
}

Result<PipelineOutcome> play_split(const PipelineQuestion& question, const PipelinePolicy& policy,
                                   const kv_stream::Split& split, std::uint64_t seed) {
  return play(question, policy, split, seed, question.links, question.timeline);
}

Result<BestPipelines> find_best(const PipelineQuestion& question, const PipelinePolicy& policy,
                                std::uint64_t seed) {
  AQUA_ASSIGN(const auto splits, splits_to_play(question, policy));
  // A host without room for a microbatch's prompts rules out its split, not the policy.
  Error no_room{};
  BestPipelines best{.split = {}, .outcome = {}, .played = splits.size()};
  for (const bool prune : {true, false}) {
    AQUA_ASSIGN(const Scores scores,
                play_without_links(question, policy, splits, seed, prune, no_room));
    std::size_t left = kWithLinks;
    for (const auto& [score, split] : scores.best) {
      auto played = play_split(question, policy, split, seed);
      if (ruled_out(played, no_room)) continue;
      AQUA_ASSIGN(PipelineOutcome outcome, std::move(played));
      const bool first = best.outcome.machines.empty();
      if (first || objective(question, outcome) < objective(question, best.outcome)) {
        best.split = split;
        best.outcome = std::move(outcome);
      }
      if (--left == 0) break;
    }
    // Others take the places of those that links ruled out.
    if (left == 0 || scores.pruned == 0) break;
  }
  if (best.outcome.machines.empty()) return no_room;
  return best;
}

}  // namespace aqua::sim
