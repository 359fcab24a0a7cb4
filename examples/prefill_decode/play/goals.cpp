// SPDX-License-Identifier: Apache-2.0
#include "play/goals.hpp"

#include <optional>
#include <string>

#include "tools/report/goal.hpp"

namespace aqua::prefill_decode {
namespace {

using Json = nlohmann::json;
using report::Bound;
using report::judge;

// A number, whether something is so, or the median of a summary.
std::optional<double> figure(const Json& part, const char* key) {
  const auto found = part.find(key);
  if (found == part.end()) return std::nullopt;
  if (found->is_boolean()) return found->get<bool>() ? 1 : 0;
  if (found->is_number()) return found->get<double>();
  if (found->is_object()) return figure(*found, "median");
  return std::nullopt;
}

std::optional<double> share(const Json& part, const char* of, const char* all) {
  const auto some = figure(part, of), whole = figure(part, all);
  if (!some || !whole || *whole <= 0) return std::nullopt;
  return *some / *whole;
}

void judge_conversations(const Json& part, bool paged, Json& goals) {
  goals.push_back(judge(paged ? "conversations with the logits of one process, of all"
                              : "conversations with the tokens of one process, of all",
                        Bound::at_least, 1,
                        share(part, paged ? "equal_logits" : "equal_tokens", "answered")));
  if (paged) {
    goals.push_back(
        judge("KV bytes that an engine copied", Bound::at_most, 0, figure(part, "copied_bytes")));
  }
  goals.push_back(judge("both processes have the same inodes of the cache mapped", Bound::at_least,
                        1, figure(part, "same_memory")));
  goals.push_back(judge("memory of the cache, over one process's", Bound::at_most, 1.02,
                        figure(part, "memory_ratio")));
}

void judge_weights(const Json& part, Json& goals) {
  goals.push_back(judge("answers with the logits of private weights, of all", Bound::at_least, 1,
                        share(part, "equal_logits", "answered")));
  goals.push_back(judge("tokens/s with the keeper's weights, over private ones", Bound::at_least,
                        0.97, figure(part, "tokens_per_second_over_private")));
  goals.push_back(judge("sizes of the weights that four engines save", Bound::at_least, 2.9,
                        figure(part, "weight_sizes_saved")));
  goals.push_back(judge("memory of four engines, over that with a mapped file", Bound::at_most,
                        1.02, figure(part, "memory_over_file")));
}

}  // namespace

Json goals_of(const Json& report) {
  Json goals = Json::array();
  if (report.contains("conversations")) {
    judge_conversations(report["conversations"], report.value("engine", "paged") == "paged", goals);
  }
  if (report.contains("weights")) judge_weights(report["weights"], goals);
  if (report.contains("long_prompts")) {
    goals.push_back(judge("p99 between tokens, one process over two, long prompts coming",
                          Bound::at_least, 5, figure(report["long_prompts"], "p99_ratio")));
  }
  return goals;
}

}  // namespace aqua::prefill_decode
