// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <cstdio>
#include <string_view>

#include "summary.hpp"

namespace aqua::llama_example {
namespace {

using example::summary;
using nlohmann::json;

// How a run stands against the unpreempted one.
struct Equality {
  std::size_t tokens = 0;         // conversations whose tokens are all the same
  std::size_t logits = 0;         // … and whose logits are, to the last bit
  std::size_t tokens_before = 0;  // tokens up to the first different one, over all
};

Equality compare(const Served& run, const Served& reference) {
  Equality equal;
  for (std::size_t i = 0; i < run.answers.size(); ++i) {
    const Answer &ours = run.answers[i], &theirs = reference.answers[i];
    equal.tokens += ours.tokens == theirs.tokens ? 1U : 0U;
    equal.logits +=
        ours.tokens == theirs.tokens && ours.logits_hash == theirs.logits_hash ? 1U : 0U;
    for (std::size_t t = 0; t < ours.tokens.size() && ours.tokens[t] == theirs.tokens[t]; ++t)
      ++equal.tokens_before;
  }
  return equal;
}

double sum(const std::vector<double>& values) {
  double total = 0;
  for (const double value : values) total += value;
  return total;
}

std::vector<double> first_tokens(const Served& run) {
  std::vector<double> seconds;
  for (const Answer& answer : run.answers) seconds.push_back(answer.first_token_seconds);
  return seconds;
}

json to_json(const TensorParking::Stats& s) {
  return {{"parked_in_peer", s.parked_in_peer},
          {"parked_in_host", s.parked_in_host},
          {"resumed_from_peer", s.resumed_from_peer},
          {"resumed_from_host", s.resumed_from_host},
          {"moved_meanwhile", s.moved_meanwhile},
          {"written_bytes", s.written_bytes},
          {"read_bytes", s.read_bytes},
          {"checked_bytes", s.checked_bytes},
          {"mismatched_states", s.mismatched_states}};
}

json to_json(const SwappedLayers& s, const Served& reference) {
  json swapped = to_json(s.served, reference);
  swapped.update({{"layers", s.layers},
                  {"frames", s.frames},
                  {"streamed_layers", s.streamed_layers},
                  {"resident_bytes", s.resident_bytes},
                  {"frame_bytes", s.frame_bytes},
                  {"away_bytes", s.away_bytes},
                  {"away_peer_bytes", s.away_peer_bytes},
                  {"steps", s.steps},
                  {"fetched_bytes", s.fetched_bytes},
                  {"written_bytes", s.written_bytes},
                  {"saved_state_equal", s.saved_state_equal}});
  return swapped;
}

// Without the checks, which only the run with tensors makes, times are of the moves themselves.
json ratios(const RunRecord& o) {
  const auto per_second = [](const Served& run) {
    return static_cast<double>(run.tokens) / run.seconds;
  };
  const auto first = [](const Served& run) { return report::median(first_tokens(run)); };
  json ratios{
      {"tokens_per_second_tensors_over_memory", per_second(o.tensors) / per_second(o.memory)},
      {"tokens_per_second_tensors_over_unpreempted",
       per_second(o.tensors) / per_second(o.unpreempted)},
      {"median_first_token_unpreempted_over_tensors", first(o.unpreempted) / first(o.tensors)},
      {"median_first_token_tensors_over_memory", first(o.tensors) / first(o.memory)}};
  if (o.recomputed) {
    ratios["tokens_per_second_tensors_over_recomputed"] =
        per_second(o.tensors) / per_second(*o.recomputed);
    ratios["median_first_token_recomputed_over_tensors"] = first(*o.recomputed) / first(o.tensors);
    if (!o.tensors.resume_seconds.empty() && !o.recomputed->resume_seconds.empty()) {
      ratios["median_resume_recomputed_over_tensors"] =
          report::median(o.recomputed->resume_seconds) / report::median(o.tensors.resume_seconds);
    }
  }
  if (o.swapped) {
    ratios["tokens_per_second_swapped_over_unpreempted"] =
        per_second(o.swapped->served) / per_second(o.unpreempted);
    ratios["kv_memory_swapped_over_resident"] = static_cast<double>(o.swapped->frame_bytes) /
                                                static_cast<double>(o.swapped->resident_bytes);
  }
  return ratios;
}

}  // namespace

json to_json(const Served& run, const Served& reference) {
  const Equality equal = compare(run, reference);
  return {{"seconds", run.seconds},
          {"tokens", run.tokens},
          {"tokens_per_second", static_cast<double>(run.tokens) / run.seconds},
          {"preemptions", run.preemptions},
          {"time_to_first_token_s", summary(first_tokens(run))},
          {"park_seconds", run.park_seconds},
          {"resume_seconds", sum(run.resume_seconds)},
          {"resume_s", summary(run.resume_seconds)},
          {"conversations_with_equal_tokens", equal.tokens},
          {"conversations_with_equal_logits", equal.logits},
          {"tokens_before_the_first_different", equal.tokens_before}};
}

json to_json(const RunRecord& o) {
  std::size_t prompt_tokens = 0;
  for (const ChatRequest& request : o.requests) prompt_tokens += request.prompt.size();
  json report{{"benchmark", "llama"},
              {"device", "emulated"},
              {"model", o.model.description()},
              {"kv_bytes_per_token", o.model.kv_bytes_per_token()},
              {"threads", o.options.threads},
              {"conversations", o.requests.size()},
              {"slots", o.options.slots},
              {"slice_tokens", o.options.slice},
              {"prompt_tokens", prompt_tokens},
              {"unpreempted", to_json(o.unpreempted, o.unpreempted)},
              {"tensors", to_json(o.tensors, o.unpreempted)},
              {"memory", to_json(o.memory, o.unpreempted)},
              {"recomputed", nullptr},
              {"swapped", nullptr},
              {"parking", to_json(o.parking)},
              {"reclaim", o.reclaim},
              {"blocks", o.blocks},
              {"prefixes", o.prefixes},
              {"resuming", o.resuming},
              {"ratios", ratios(o)}};
  if (o.recomputed) report["recomputed"] = to_json(*o.recomputed, o.unpreempted);
  if (o.swapped) report["swapped"] = to_json(*o.swapped, o.unpreempted);
  const auto& first = o.tensors.answers.front().tokens;
  report["sample"] = o.model.text_of(first);
  return report;
}

void print_summary(const json& r) {
  std::printf("\n%-14s %10s %12s %14s %12s %14s\n", "", "tokens/s", "preemptions", "first token, s",
              "resume, ms", "equal tokens");
  for (const char* name : {"unpreempted", "tensors", "memory", "recomputed", "swapped"}) {
    const json& run = r.at(name);
    if (run.is_null()) continue;
    const json& resume = run.at("resume_s");
    std::printf("%-14s %10.1f %12zu %14.2f %12.2f %8zu of %zu\n", name,
                run.at("tokens_per_second").get<double>(), run.at("preemptions").get<std::size_t>(),
                run.at("time_to_first_token_s").at("median").get<double>(),
                resume.is_null() ? 0 : resume.at("median").get<double>() * 1e3,
                run.at("conversations_with_equal_tokens").get<std::size_t>(),
                r.at("conversations").get<std::size_t>());
  }
  const json &parking = r.at("parking"), &blocks = r.at("blocks");
  std::printf(
      "states written to lent memory %zu, to host memory %zu; %zu moved while parked; "
      "%zu of %zu read back wrong\n",
      parking.at("parked_in_peer").get<std::size_t>(),
      parking.at("parked_in_host").get<std::size_t>(),
      parking.at("moved_meanwhile").get<std::size_t>(),
      parking.at("mismatched_states").get<std::size_t>(),
      parking.at("resumed_from_peer").get<std::size_t>() +
          parking.at("resumed_from_host").get<std::size_t>());
  std::printf("%zu blocks of %zu layers through offload and fetch: %zu bytes wrong, tokens %s\n",
              blocks.at("blocks").get<std::size_t>(), blocks.at("layers").get<std::size_t>(),
              blocks.at("bytes_wrong").get<std::size_t>(),
              blocks.at("tokens_equal").get<bool>() ? "equal" : "different");
  for (const json& row : r.at("prefixes").at("rows")) {
    std::printf("a beginning of %u tokens, %s: %zu fetched, tokens %s\n",
                r.at("prefixes").at("shared_tokens").get<unsigned>(),
                row.at("when").get<std::string>().c_str(),
                row.at("tokens_fetched").get<std::size_t>(),
                row.at("tokens_equal").get<bool>() ? "equal" : "different");
  }
  if (const json& swapped = r.at("swapped"); !swapped.is_null()) {
    std::printf(
        "%u layers in %u frames: the KV cache in %.2f of the memory, %.2f times the tokens per "
        "second, logits of %zu conversations equal\n",
        swapped.at("layers").get<unsigned>(), swapped.at("frames").get<unsigned>(),
        r.at("ratios").at("kv_memory_swapped_over_resident").get<double>(),
        r.at("ratios").at("tokens_per_second_swapped_over_unpreempted").get<double>(),
        swapped.at("conversations_with_equal_logits").get<std::size_t>());
  }
  if (const json& resuming = r.at("resuming"); !resuming.is_null()) {
    const json& ratio = resuming.at("ratios");
    std::printf(
        "at %u tokens of context: restored in %.1f ms, recomputed in %.0f ms: %.0f times; "
        "save and restore %.2f times those of process memory\n",
        resuming.at("context_tokens").get<unsigned>(),
        resuming.at("tensor").at("restore_ms").at("median").get<double>(),
        resuming.at("recompute_ms").at("median").get<double>(),
        ratio.at("recompute_over_tensor_restore").get<double>(),
        ratio.at("tensor_over_memory_kept").get<double>());
  }
}

std::vector<std::string> complaints(const json& r) {
  std::vector<std::string> wrong;
  const auto demand = [&](bool held, const char* what) {
    if (!held) wrong.emplace_back(what);
  };
  const std::size_t all = r.at("conversations");
  for (const char* name : {"tensors", "memory"}) {
    const json& run = r.at(name);
    demand(run.at("conversations_with_equal_tokens") == all &&
               run.at("conversations_with_equal_logits") == all,
           name[0] == 't' ? "tokens or logits differ with tensors"
                          : "tokens or logits differ with process memory");
  }
  if (const json& swapped = r.at("swapped"); !swapped.is_null()) {
    demand(swapped.at("conversations_with_equal_tokens") == all &&
               swapped.at("conversations_with_equal_logits") == all,
           "tokens or logits differ with layers away");
    demand(swapped.at("fetched_bytes") > 0 && swapped.at("away_peer_bytes") > 0,
           "no layer was in lent memory");
    demand(swapped.at("saved_state_equal") == true, "a state came back changed with layers away");
  }
  const json& parking = r.at("parking");
  demand(parking.at("mismatched_states") == 0, "a parked state came back changed");
  demand(r.at("blocks").at("bytes_wrong") == 0, "blocks came back changed");
  demand(r.at("blocks").at("tokens_equal") == true, "tokens differ after blocks came back");
  demand(r.at("blocks").at("tier") == "peer", "blocks went to no lent memory");
  const json &prefixes = r.at("prefixes"), &rows = prefixes.at("rows");
  const char* const tiers[] = {"none", "peer", "host", "none", "none"};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    demand(rows[i].at("tokens_equal") == true && rows[i].at("logits_equal") == true,
           "tokens or logits differ with a prefix cache");
    const bool hit = std::string_view(tiers[i]) != "none";
    demand(rows[i].at("tier") == tiers[i] &&
               rows[i].at("tokens_fetched") == (hit ? prefixes.at("shared_tokens") : json(0)),
           "a prefix was not where it was to be");
  }
  if (r.at("conversations") > r.at("slots")) {
    demand(r.at("tensors").at("preemptions") > 0, "nothing was preempted");
    demand(parking.at("parked_in_peer") > 0, "nothing was parked in lent memory");
    demand(!r.at("reclaim").is_null() && r.at("reclaim").at("evacuations") > 0,
           "the reclaim found nothing to move");
  }
  if (const json& resuming = r.at("resuming"); !resuming.is_null()) {
    demand(resuming.at("states_wrong") == 0, "a long state came back changed");
    demand(resuming.at("tensor_rounds_in_peer") == resuming.at("rounds").get<std::size_t>() + 1,
           "a long state went to no lent memory");
  }
  return wrong;
}

}  // namespace aqua::llama_example
