// SPDX-License-Identifier: Apache-2.0
#include "show/gain.hpp"

#include "show/text.hpp"

namespace aqua::example {
namespace {

using nlohmann::json;

constexpr double kSame = 1.05;  // a smaller factor is none: two servings differ by chance

double number(const json& serving, const char* pointer) {
  return serving.at(json::json_pointer(pointer)).get<double>();
}

// 0 where either is 0.
double factor(double over, double under) {
  return under > 0 ? over / under : 0;
}

std::string in_words(double factor, const char* better, const char* worse, const char* same) {
  if (factor >= kSame) return text("%.1fx %s", factor, better);
  if (factor > 0 && factor <= 1 / kSame) return text("%.1fx %s", 1 / factor, worse);
  return same;
}

std::string seconds(double ms) {
  return text("%.2f s", ms / 1000);
}

// What crossed the link to host memory: each of these does so once.
double host_bytes(const json& serving) {
  return number(serving, "/offloaded_bytes/host") + number(serving, "/fetched_bytes/host") +
         number(serving, "/promoted_bytes") + number(serving, "/evacuated_bytes");
}

}  // namespace

std::vector<GainRow> gain_rows(const json& comparison) {
  const json &host = comparison.at("host"), &lent = comparison.at("lent");
  std::vector<GainRow> rows;
  for (const char* percent : {"p50", "p99"}) {
    const std::string at = std::string("/ttft_ms/") + percent;
    const double before = number(host, at.c_str()), after = number(lent, at.c_str());
    rows.push_back({std::string("time to first token, ") + percent, seconds(before), seconds(after),
                    in_words(factor(before, after), "sooner", "later", "the same")});
  }
  const double before = number(host, "/tokens_per_second"),
               after = number(lent, "/tokens_per_second");
  rows.push_back({"tokens a second", text("%.0f", before), text("%.0f", after),
                  in_words(factor(after, before), "as many", "fewer", "the same")});
  rows.push_back({"moved over the slow link", text("%.1f GB", host_bytes(host) / 1e9),
                  text("%.1f GB", host_bytes(lent) / 1e9), ""});
  return rows;
}

std::string gain_sentence(const json& comparison) {
  const json &host = comparison.at("host"), &lent = comparison.at("lent");
  const double soon = factor(number(host, "/ttft_ms/p99"), number(lent, "/ttft_ms/p99"));
  const double much =
      factor(number(lent, "/tokens_per_second"), number(host, "/tokens_per_second"));
  if (soon < kSame && much < kSame) {
    return "Lent memory gained nothing here: this policy and load hardly preempt, or the slow link "
           "was not what held them up.";
  }
  return "With lent memory the slowest first tokens (p99) came " +
         in_words(soon, "sooner", "later", "as soon") + ", at " +
         in_words(much, "the tokens a second", "fewer tokens a second",
                  "the same tokens a second") +
         ".";
}

}  // namespace aqua::example
