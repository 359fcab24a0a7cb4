// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/simulate/simulate_lending.hpp"

#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/cli/simulate/simulate_rows.hpp"
#include "tools/cli/simulate/simulate_setup.hpp"
#include "tools/report/text.hpp"
#include "tools/sim/lending/elastic.hpp"

namespace aqua::tool {
namespace {

using nlohmann::json;
using report::fixed;

struct Paging {
  const char* name;
  Tier tier;
  bool overlapped;
  sim::PagingMethod method;
};
constexpr Paging kPagings[] = {
    {"dram, serial", Tier::host, false, sim::PagingMethod::gathered},
    {"dram", Tier::host, true, sim::PagingMethod::gathered},
    {"aqua, block by block", Tier::peer, true, sim::PagingMethod::per_block},
    {"aqua, serial", Tier::peer, false, sim::PagingMethod::gathered},
    {"aqua", Tier::peer, true, sim::PagingMethod::gathered},
    {"nothing to fetch", Tier::local, true, sim::PagingMethod::gathered}};

double mean(const std::vector<double>& values, double from, double to) {
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto second = static_cast<double>(i);
    if (second < from || second + 1 > to) continue;
    sum += values[i];
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

// What lent memory brings a context that is fetched for each token.
std::string verdict(double lent_per_second, double host_per_second) {
  return concat("A context in a neighbour's memory gives ", fixed(lent_per_second, 2),
                " tokens/s, in host memory ", fixed(host_per_second, 2), ": ",
                fixed(lent_per_second / host_per_second, 1), " times as many.\n\n");
}

json elastic_json(const sim::ElasticShape& shape, const sim::ElasticOutcome& outcome) {
  json all{{"rate", shape.per_second},
           {"surge_factor", shape.factor},
           {"borrower_tokens_per_second", outcome.tokens_per_second},
           {"bytes_moved", outcome.bytes_moved},
           {"offers", outcome.offers},
           {"reclaims", outcome.reclaims},
           {"lender_alone", metrics_json(outcome.alone)},
           {"lender_lending", metrics_json(outcome.lending)}};
  for (const sim::Lender::Sample& sample : outcome.lender) {
    all["lent_bytes"].push_back(sample.lent_bytes);
    all["lender_requests_per_second"].push_back(sample.requests_per_second);
    all["lender_queue"].push_back(sample.queue);
  }
  return all;
}

// What the borrower had before, while and after the lender was busy, and what lending cost.
std::string verdict(const sim::ElasticShape& shape, const sim::ElasticOutcome& outcome) {
  const auto rate = [&outcome](double from, double to) {
    return fixed(mean(outcome.tokens_per_second, from, to), 1);
  };
  return concat("The borrower's tokens/s: ", rate(shape.start_s, shape.surge_s), ", then ",
                rate(shape.surge_s, shape.settle_s), " while the lender was busy, ",
                rate(shape.settle_s + 60, shape.end_s), " a minute after.\n",
                "The lender's time for a token: ", fixed(outcome.lending.tpot_mean_s * 1000, 1),
                " ms, without a borrower ", fixed(outcome.alone.tpot_mean_s * 1000, 1), " ms.\n\n");
}

std::string elastic_table(const sim::ElasticShape& shape, const sim::ElasticOutcome& outcome) {
  std::ostringstream out;
  out << verdict(shape, outcome);
  out << std::fixed << std::setprecision(2);
  const auto row = [&](const char* what, double from, double to) {
    double lent = 0;
    for (const sim::Lender::Sample& sample : outcome.lender) {
      if (sim::seconds(sample.at) <= to) lent = sample.lent_bytes / 1e9;
    }
    out << std::left << std::setw(32) << what << std::right << std::setw(6) << from << " to "
        << std::setw(6) << to << std::setw(14) << mean(outcome.tokens_per_second, from, to)
        << std::setw(14) << lent << '\n';
  };
  out << "the lender's load                     seconds      tokens/s      lent GB at the end\n";
  row("stable", shape.start_s, shape.surge_s);
  row("doubled", shape.surge_s, shape.settle_s);
  row("stable again, queue drains", shape.settle_s, shape.settle_s + 60);
  row("stable again", shape.settle_s + 60, shape.end_s);
  out << "\n"
      << outcome.offers << " offers, " << outcome.reclaims << " reclaims, "
      << outcome.bytes_moved / 1e9
      << " GB moved off and back\nlender          TTFT p99 s  TPOT ms\n";
  const auto lender = [&](const char* what, const sim::Metrics& metrics) {
    out << what << std::setw(10) << metrics.ttft_p99_s << std::setw(9) << metrics.tpot_mean_s * 1000
        << '\n';
  };
  lender("alone           ", outcome.alone);
  lender("lending         ", outcome.lending);
  return std::move(out).str();
}

}  // namespace

Result<std::string> run_long_prompt(const SimulateOptions& options) {
  SimulateOptions own = options;
  if (!own.kv_tokens) own.kv_tokens = 1024;  // the context lies elsewhere
  AQUA_ASSIGN(const sim::Ground ground, ground_of(own));
  const sim::LongPromptShape shape{.prompt_tokens = options.prompt};
  json all;
  std::ostringstream out;
  out << std::fixed << std::setprecision(2) << "way                     tokens/s   closed form   "
      << "fetch ms a layer   compute ms a layer\n";
  for (const Paging& paging : kPagings) {
    const auto outcome =
        sim::long_prompt(ground, shape, paging.tier, paging.overlapped, paging.method);
    out << std::left << std::setw(22) << paging.name << std::right << std::setw(10)
        << outcome.tokens_per_second << std::setw(14) << outcome.closed_form << std::setw(19)
        << outcome.layer_fetch_s * 1e3 << std::setw(21) << outcome.layer_compute_s * 1e3 << '\n';
    all[paging.name] = {{"tokens_per_second", outcome.tokens_per_second},
                        {"closed_form_tokens_per_second", outcome.closed_form},
                        {"layer_fetch_s", outcome.layer_fetch_s},
                        {"layer_compute_s", outcome.layer_compute_s}};
  }
  if (!options.json) {
    return verdict(all["aqua"]["tokens_per_second"], all["dram"]["tokens_per_second"]) +
           std::move(out).str() + sources_text(ground);
  }
  return json{{"ways", all}, {"sources", sources_json(ground)}}.dump(2) + "\n";
}

Result<std::string> run_elastic(const SimulateOptions& options, const sim::Trace& trace) {
  AQUA_ASSIGN(const sim::Ground lender, ground_of(options));
  SimulateOptions other = options;
  other.model = options.borrower;
  other.kv_tokens = 1024;  // its context lies elsewhere
  AQUA_ASSIGN(const sim::Ground borrower, ground_of(other));
  sim::ElasticShape shape{.factor = options.burst,
                          .prompt_tokens = options.prompt,
                          .lend_bytes = options.lent_gb * 1e9};
  shape.settle_s = shape.surge_s + options.burst_seconds;
  shape.end_s = shape.settle_s + 120;
  if (options.rate) {
    shape.per_second = *options.rate;
  } else {
    AQUA_ASSIGN(shape.per_second, stable_rate(lender, trace, options.sla));
  }
  AQUA_ASSIGN(const sim::ElasticOutcome outcome, sim::elastic(lender, borrower, trace, shape, 1));
  if (!options.json)
    return elastic_table(shape, outcome) + sources_text(lender) + sources_text(borrower);
  json all = elastic_json(shape, outcome);
  all["sources"] = {{"lender", sources_json(lender)}, {"borrower", sources_json(borrower)}};
  return all.dump(2) + "\n";
}

}  // namespace aqua::tool
