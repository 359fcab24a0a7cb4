// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <cstdio>

#include "summary.hpp"

namespace aqua::long_context {
namespace {

using example::summary;
using nlohmann::json;

// Summaries of ratios that were formed for each round by itself.
json ratios(const StepTimes& times) {
  std::vector<double> total, hidden, balance;
  for (std::size_t i = 0; i < times.overlapped.size(); ++i) {
    const double all = times.overlapped[i], copies = times.transfer[i], kernels = times.compute[i];
    total.push_back(total_over_longer(all, copies, kernels));
    hidden.push_back(hidden_share(all, copies, kernels));
    balance.push_back(kernels / copies);
  }
  return {{"total_over_longer", summary(total)},
          {"hidden_share_of_shorter", summary(hidden)},
          {"compute_over_transfer", summary(balance)}};
}

json describe(const Options& options) {
  return {{"layers", options.layers},
          {"prompt_tokens", options.prompt_tokens},
          {"output_tokens", options.output_tokens},
          {"kv_bytes", options.shape().kv_bytes()},
          {"device_bytes", options.device_bytes()},
          {"kv_over_device", static_cast<double>(options.shape().kv_bytes()) /
                                 static_cast<double>(options.device_bytes())},
          {"lent_percent", options.lent_percent},
          {"link_mb_per_s", options.link_mb_per_s},
          {"queries", options.queries},
          {"steps", options.steps},
          {"rounds", options.rounds},
          {"at_most", options.at_most}};
}

}  // namespace

json to_json(const RunRecord& record, const Engine& engine, const Engine& resident) {
  const StepTimes& times = record.times;
  const LayerPoolStatus &measured = record.measured, pool = engine.status();
  json report = describe(record.options);
  report["benchmark"] = "long_context";
  report["device"] = "emulated";
  report["seconds_per_step"] = {{"overlapped", summary(times.overlapped)},
                                {"transfer_alone", summary(times.transfer)},
                                {"compute_alone", summary(times.compute)}};
  report["ratios"] = ratios(times);
  report["generated_tokens"] = engine.generated_tokens();
  report["frames"] = measured.frames;
  report["streamed_layers"] = measured.streamed_layers;
  report["away_bytes"] = measured.away_bytes;
  report["away_peer_bytes"] = measured.away_peer_bytes;
  report["fetched_bytes"] = pool.fetched_bytes;
  report["written_bytes"] = pool.written_bytes;
  report["verified_bytes"] = engine.findings().verified_bytes.load();
  report["mismatched_bytes"] = engine.findings().mismatched_bytes.load();
  report["mismatched_bytes_resident"] = resident.findings().mismatched_bytes.load();
  report["attention_digest"] = engine.findings().digest.load();
  report["same_digest_as_resident"] = record.same_digest;
  report["lost_tensors"] = record.lost_tensors;
  report["reclaim"] = record.reclaim;
  return report;
}

void print_summary(const json& report) {
  const auto gb = [](const json& bytes) { return bytes.get<double>() / 1e9; };
  const json &seconds = report.at("seconds_per_step"), &ratio = report.at("ratios");
  const auto ms = [&](const char* name) {
    return seconds.at(name).at("median").get<double>() * 1e3;
  };
  const auto median = [&](const char* name) { return ratio.at(name).at("median").get<double>(); };
  std::printf(
      "\nms a token   overlapped %.1f, copies alone %.1f, kernels alone %.1f\n"
      "overlapped is %.2f times the longer of the two; %.0f %% of the shorter is hidden\n",
      ms("overlapped"), ms("transfer_alone"), ms("compute_alone"), median("total_over_longer"),
      100 * median("hidden_share_of_shorter"));
  std::printf("GB fetched   %.2f, written back %.2f; away %.2f, of these %.2f in lent memory\n",
              gb(report.at("fetched_bytes")), gb(report.at("written_bytes")),
              gb(report.at("away_bytes")), gb(report.at("away_peer_bytes")));
  if (const json& reclaim = report.at("reclaim"); !reclaim.is_null()) {
    std::printf(
        "reclaim      %.0f MiB back at the lender in %.1f ms; %zu layers moved home, %zu "
        "back again\n",
        reclaim.at("lender").at("bytes").get<double>() / (1 << 20),
        reclaim.at("lender").at("last_ms").get<double>(),
        reclaim.at("evacuations").get<std::size_t>(), reclaim.at("promotions").get<std::size_t>());
  }
  std::printf("verified     %.2f GB, mismatched %zu bytes\n", gb(report.at("verified_bytes")),
              report.at("mismatched_bytes").get<std::size_t>());
}

std::vector<std::string> complaints(const json& report) {
  std::vector<std::string> wrong;
  const auto demand = [&](bool held, const std::string& what) {
    if (!held) wrong.push_back(what);
  };
  demand(report.at("mismatched_bytes") == 0,
         report.at("mismatched_bytes").dump() + " bytes are not what was written");
  demand(report.at("mismatched_bytes_resident") == 0, "bytes that stayed are not what was written");
  demand(report.at("same_digest_as_resident") == true,
         "attention gave another result than where nothing is away");
  demand(report.at("lost_tensors") == 0, "a tensor was lost");
  demand(report.at("verified_bytes").get<double>() >= report.at("kv_bytes").get<double>(),
         "not even one context was verified");
  demand(report.at("away_peer_bytes") > 0, "nothing was in lent memory");
  if (const json& reclaim = report.at("reclaim"); !reclaim.is_null()) {
    demand(reclaim.at("evacuations") > 0, "the reclaim found nothing to move");
    demand(reclaim.at("peer_bytes_when_home") == 0, "the lender's memory was still in use");
    demand(reclaim.at("promotions") > 0, "nothing came back into lent memory");
  }
  const double bound = report.at("at_most");
  const double total = report.at("ratios").at("total_over_longer").at("median");
  demand(bound == 0 || total <= bound, "overlapped took " + std::to_string(total) +
                                           " times the longer part, more than --at-most");
  return wrong;
}

}  // namespace aqua::long_context
