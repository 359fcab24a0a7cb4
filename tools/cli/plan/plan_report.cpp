// SPDX-License-Identifier: Apache-2.0
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/concat.hpp"
#include "tools/cli/plan/plan_command.hpp"
#include "tools/report/text.hpp"

namespace aqua::tool {
namespace {

using kv_stream::Policy;
using nlohmann::json;
using report::fixed;

std::string_view name_of(std::size_t policy) {
  return to_string(static_cast<Policy>(policy));
}

json side_json(const kv_stream::Side& side) {
  json row{{"pipelines", side.pipelines},   {"depth", side.depth}, {"layers", side.layers},
           {"microbatch", side.microbatch}, {"bytes", side.bytes}, {"seconds", side.seconds}};
  if (side.swaps) {
    row["swapped"] = {
        {"lent", side.away.lent}, {"host", side.away.host}, {"host_bytes", side.host_bytes}};
  }
  return row;
}

json split_json(const kv_stream::Split& split) {
  json row{{"policy", to_string(split.policy)},
           {"split", kv_stream::describe(split)},
           {"machines", split.machines},
           {"fits", split.fits},
           {"seconds_per_request", split.seconds_per_request},
           {"cost_per_request", split.cost_per_request},
           {"token", side_json(split.token)}};
  if (split.prompt.pipelines > 0) row["prompt"] = side_json(split.prompt);
  if (!split.lost.empty()) row["lost"] = split.lost;
  return row;
}

json planned_json(const PlannedMachines& planned) {
  json all{{"machines", planned.input.machines},
           {"plan", split_json(planned.plan.best)},
           {"ideal",
            {{"prompt_machines", planned.plan.ideal.prompt_machines},
             {"token_machines", planned.plan.ideal.token_machines}}}};
  for (std::size_t i = 0; i < planned.simulated.size(); ++i) {
    const kv_stream::Outcome& outcome = planned.plan.outcomes[i];
    json row = outcome.best ? split_json(*outcome.best) : json::object();
    if (!outcome.reason.empty()) row["reason"] = outcome.reason;
    if (const auto& simulated = planned.simulated[i]) {
      row["simulated"] = {{"equal_lengths_s", simulated->equal},
                          {"own_lengths_s", simulated->own},
                          {"own_lengths_refilled_s", simulated->own_refilled}};
    }
    all["policies"][std::string(name_of(i))] = std::move(row);
  }
  if (planned.swap) {
    json& swap = all["swapping"];
    swap = json::object();
    if (planned.swap->swapped) swap["split"] = split_json(*planned.swap->swapped);
    if (planned.swap->kept) swap["without"] = split_json(*planned.swap->kept);
    if (planned.swap->gain() > 0) swap["gain"] = planned.swap->gain();
  }
  for (const kv_stream::Split& split : planned.splits) all["splits"].push_back(split_json(split));
  return all;
}

std::string verdict(const PlannedMachines& planned) {
  const kv_stream::Split& best = planned.plan.best;
  std::string text = concat(
      planned.input.machines,
      planned.input.machines == 1 ? " machine: " : " machines: ", to_string(best.policy), ", ",
      kv_stream::describe(best), ". ", fixed(best.seconds_per_request, 3), " s a request");
  if (best.machines < planned.input.machines)
    text += concat(", ", planned.input.machines - best.machines, " machines left over");
  return text + ".\n";
}

std::string swap_text(const SwapVerdict& verdict) {
  if (!verdict.swapped) return "Swapping: no split that swaps microbatches fits.\n";
  const std::string split =
      concat(to_string(verdict.swapped->policy), ", ", kv_stream::describe(*verdict.swapped));
  if (!verdict.kept) return concat("Swapping: nothing fits without it; best is ", split, ".\n");
  return concat("Swapping ", verdict.gain() > 1 ? "pays" : "does not pay", ": at best ",
                fixed(verdict.gain(), 2), " of the throughput without it, with ", split, ".\n");
}

void table(std::ostringstream& out, const PlannedMachines& planned) {
  out << std::left << std::setw(18) << "policy" << std::right << std::setw(9) << "planned"
      << std::setw(9) << "equal" << std::setw(9) << "own" << std::setw(9) << "refilled"
      << "  split, and why not\n";
  for (std::size_t i = 0; i < planned.simulated.size(); ++i) {
    const kv_stream::Outcome& outcome = planned.plan.outcomes[i];
    out << std::left << std::setw(18) << name_of(i) << std::right;
    if (outcome.best) {
      const SimulatedSplit& simulated = planned.simulated[i].value();
      for (const double value : {outcome.best->seconds_per_request, simulated.equal, simulated.own,
                                 simulated.own_refilled}) {
        out << std::setw(9) << fixed(value, 4);
      }
      out << "  " << kv_stream::describe(*outcome.best);
      if (!outcome.reason.empty()) out << ": " << outcome.reason;
    } else {
      out << std::setw(36) << ""
          << "  " << outcome.reason;
    }
    out << '\n';
  }
  out << "Equations 5 and 6, an estimate: " << fixed(planned.plan.ideal.prompt_machines, 2)
      << " machines for prompts, " << fixed(planned.plan.ideal.token_machines, 2)
      << " for tokens\n";
  if (planned.swap) out << swap_text(*planned.swap);
}

}  // namespace

std::string plan_text(const PlanOptions& options, const sim::MachineGround& ground,
                      const sim::PipelineLengths& lengths,
                      const std::vector<PlannedMachines>& all) {
  const std::uint64_t requests = all.front().input.requests;
  std::ostringstream out;
  for (const PlannedMachines& planned : all) out << verdict(planned);
  out << '\n'
      << ground.model.name << " on machines of " << ground.server.gpus << " x "
      << ground.server.gpu.name << "; prompts of " << fixed(lengths.prompt, 0)
      << " tokens (longest " << lengths.longest_prompt << "), answers of "
      << fixed(lengths.output, 0) << " (longest " << lengths.longest_output
      << ")\nSeconds a request: planned for "
      << (requests == 0 ? "requests without end" : concat(requests, " requests at once"))
      << "; simulated, " << simulated_requests(options, requests)
      << " of them, with equal answers;\nwith their own lengths, where a microbatch ends with its "
      << "longest; and where whoever ends is\nreplaced at once.\n";
  for (const PlannedMachines& planned : all) {
    out << '\n';
    if (all.size() > 1) out << planned.input.machines << " machines\n";
    table(out, planned);
    for (const kv_stream::Split& split : planned.splits) {
      out << "  " << to_string(split.policy) << ": " << kv_stream::describe(split);
      if (split.fits) out << ", " << fixed(split.seconds_per_request, 4) << " s";
      out << (split.lost.empty() ? ". The plan" : ". ") << split.lost << '\n';
    }
  }
  out << '\n';
  for (const sim::Source& source : ground.sources) {
    out << source.what << ": " << source.label << " (" << source.from << ")\n";
  }
  return std::move(out).str();
}

std::string plan_json(const PlanOptions& options, const sim::MachineGround& ground,
                      const sim::PipelineLengths& lengths,
                      const std::vector<PlannedMachines>& all) {
  const kv_stream::PlanInput& input = all.front().input;
  json shared{{"model", ground.model.name},
              {"server", ground.server.name},
              {"prompt_tokens", {{"mean", lengths.prompt}, {"longest", lengths.longest_prompt}}},
              {"output_tokens", {{"mean", lengths.output}, {"longest", lengths.longest_output}}},
              {"machine_bytes", input.machine_bytes},
              {"reserved_bytes", input.reserved_bytes},
              {"layers", input.layers},
              {"layer_weight_bytes", input.layer_weight_bytes},
              {"layer_kv_bytes", input.layer_kv_bytes},
              {"stream_overhead", input.stream_overhead},
              {"price_of", options.price > 0 ? "given" : "machine hours"},
              {"requests", input.requests},
              {"simulated_requests", simulated_requests(options, input.requests)}};
  for (const kv_stream::MicrobatchCost& cost : input.microbatches) {
    shared["microbatches"].push_back({{"requests", cost.requests},
                                      {"prompt_seconds", cost.prompt_seconds},
                                      {"token_seconds", cost.token_seconds}});
  }
  for (const sim::Source& source : ground.sources) {
    shared["sources"].push_back(
        {{"what", source.what}, {"label", source.label}, {"from", source.from}});
  }
  if (options.sweep) {
    shared["sweep"] = "machines";
    for (const PlannedMachines& planned : all) shared["points"].push_back(planned_json(planned));
  } else {
    shared.update(planned_json(all.front()));
  }
  return shared.dump(2) + "\n";
}

}  // namespace aqua::tool
