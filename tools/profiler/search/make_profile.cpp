// SPDX-License-Identifier: Apache-2.0
#include "tools/profiler/search/make_profile.hpp"

#include <algorithm>
#include <cmath>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/profiler/search/batch_search.hpp"

namespace aqua::profiler {
namespace {

// Each probe has arrivals of its own, the same whenever it is made again.
std::uint64_t seed_of(const LlmOptions& options, std::size_t probe) {
  return options.seed * 1000 + probe;
}

// Nothing measured is nothing to keep: a file of an earlier run is worth more.
Result<void> keep(Record& record, const Hooks& hooks) {
  if (!record.evidence.measured()) return {};
  conclude(record);
  return hooks.save ? hooks.save(record) : Result<void>{};
}

// What was found stays; the error says what ended it.
Error end(Record& record, const Hooks& hooks, Error error) {
  record.evidence.reason = error.message;
  if (const auto saved = keep(record, hooks); !saved.ok())
    error.message += concat("; and ", saved.error().message);
  return error;
}

Result<RateSearch> resumed(const Record& record, const LlmOptions& options) {
  AQUA_ASSIGN(RateSearch search, RateSearch::create(options.range));
  for (const Probe& probe : record.evidence.probes) {
    const auto asked = search.next();
    if (!asked || !same_rate(*asked, probe.rate)) {
      return Error{Code::invalid_argument,
                   concat("the file has a probe of ", probe.rate,
                          " requests/s that this search would not have made: start it afresh")};
    }
    search.told(probe.met);
  }
  return search;
}

// A client that sends late makes an engine look slow.
void warn_of_lateness(Record& record, const LlmOptions& options) {
  double most = 0;
  for (const Probe& probe : record.evidence.probes)
    most = std::max(most, probe.whole ? probe.lateness_s : 0);
  warn(record.evidence, "lateness",
       most <= options.sla.ttft_s / 10
           ? ""
           : concat("this machine sent requests up to ", most, " s late, of the ",
                    options.sla.ttft_s, " s for a first token: the engine may do better; use a ",
                    "machine that does nothing else"));
}

Result<void> search_rates(RateSearch& search, Record& record, Probing& probing,
                          const LlmOptions& options, const Hooks& hooks) {
  for (auto rate = search.next(); rate; rate = search.next()) {
    if (hooks.progress)
      hooks.progress(concat(*rate, " requests/s"), search.probes(), search.most_probes());
    auto probe = probing.probe(*rate, seed_of(options, search.probes()), search.confirming());
    if (!probe.ok()) return end(record, hooks, std::move(probe).error());
    record.evidence.probes.push_back(*probe);
    search.told(probe->met);
    record.profile.max_rps = search.best().value_or(0);
    warn_of_lateness(record, options);
    AQUA_TRY(keep(record, hooks));
  }
  return {};
}

// The probes were too few to be sure of a rate.
Error unsure(const RateSearch& search) {
  return {
      Code::failed_precondition,
      concat("after ", search.probes(),
             " probes it is not clear which rate meets the SLA: they contradict each other; give "
             "more --requests, a narrower range, or a machine that does nothing else")};
}

Error no_rate(const Record& record, const LlmOptions& options) {
  const auto& probes = record.evidence.probes;
  const auto lowest = std::min_element(
      probes.begin(), probes.end(), [](const Probe& a, const Probe& b) { return a.rate < b.rate; });
  const Quantiles& found = lowest->quantiles;
  return {Code::failed_precondition,
          concat("no rate from ", options.range.from, " to ", options.range.to,
                 " requests/s meets the SLA: at ", lowest->rate, " the first token took ",
                 found.ttft_s, " s and tokens were ", found.tbt_s, " s apart, ", lowest->failures,
                 " requests failed; give a lower --from or a looser --sla")};
}

bool has_burst(const Record& record, double factor) {
  const auto& bursts = record.evidence.bursts;
  return std::any_of(bursts.begin(), bursts.end(),
                     [&](const Burst& burst) { return same_rate(burst.factor, factor); });
}

}  // namespace

Result<void> profile_llm(Record& record, Probing& probing, const LlmOptions& options,
                         const Hooks& hooks) {
  record.profile.complete = false;
  record.evidence.reason.clear();
  auto search = resumed(record, options);
  if (!search.ok()) return std::move(search).error();
  record.profile.max_rps = search->best().value_or(0);
  AQUA_TRY(search_rates(*search, record, probing, options, hooks));
  if (search->none_holds() && !search->best()) return end(record, hooks, no_rate(record, options));
  if (!search->confirmed()) return end(record, hooks, unsure(*search));
  warn(record.evidence, "range",
       !search->at_top() ? ""
                         : concat("the highest rate asked for, ", *search->best(),
                                  " requests/s, meets the SLA: more may; give a higher --to"));
  conclude(record);
  for (const double factor : options.bursts) {
    if (record.profile.role == ProfileRole::producer || has_burst(record, factor)) continue;
    if (hooks.progress)
      hooks.progress(concat("burst of ", factor, " times"), search->probes(), search->probes() + 1);
    auto burst = probing.burst(*search->best(), factor, options.seed);
    if (!burst.ok()) return end(record, hooks, std::move(burst).error());
    record.evidence.bursts.push_back(*burst);
    AQUA_TRY(keep(record, hooks));
  }
  record.profile.complete = true;
  return keep(record, hooks);
}

Result<void> profile_batches(Record& record, Probing& probing, std::size_t most,
                             const Hooks& hooks) {
  record.profile.complete = false;
  record.evidence.reason.clear();
  BatchSearch search(most);
  for (const Batch& batch : record.evidence.batches) search.told(batch.throughput);
  for (auto size = search.next(); size; size = search.next()) {
    if (hooks.progress) hooks.progress(concat("batches of ", *size), *size, most);
    auto batch = probing.batch(*size);
    if (!batch.ok()) return end(record, hooks, std::move(batch).error());
    record.evidence.batches.push_back(*batch);
    search.told(batch->throughput);
    record.profile.max_rps = search.throughput();
    AQUA_TRY(keep(record, hooks));
  }
  warn(record.evidence, "range",
       search.saturated()
           ? ""
           : concat("the largest batch asked for, ", search.best(), ", did not saturate it"));
  record.profile.complete = true;
  return keep(record, hooks);
}

}  // namespace aqua::profiler
