// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <cstdio>

#include "summary.hpp"

namespace aqua::long_context {
namespace {

using example::summary;
using nlohmann::json;

// Of each round by itself.
json ratios(const StepTimes& times) {
  std::vector<double> total, hidden, serial, balance;
  for (std::size_t i = 0; i < times.overlapped.size(); ++i) {
    const double all = times.overlapped[i], copies = times.transfer[i], kernels = times.compute[i];
    total.push_back(total_over_longer(all, copies, kernels));
    hidden.push_back(hidden_share(all, copies, kernels));
    serial.push_back(times.serial[i] / all);
    balance.push_back(kernels / copies);
  }
  return {{"total_over_longer", summary(total)},
          {"hidden_share_of_shorter", summary(hidden)},
          {"no_prefetch_over_total", summary(serial)},
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

json to_json(const RunRecord& record, const Pipeline& pipeline) {
  const StepTimes& times = record.times;
  json report = describe(record.options);
  report["benchmark"] = "long_context";
  report["device"] = "emulated";
  report["seconds_per_step"] = {{"overlapped", summary(times.overlapped)},
                                {"transfer_alone", summary(times.transfer)},
                                {"compute_alone", summary(times.compute)},
                                {"no_prefetch", summary(times.serial)}};
  report["ratios"] = ratios(times);
  report["generated_tokens"] = pipeline.generated_tokens();
  report["fetched_bytes"] = pipeline.context().fetched();
  report["stored_bytes"] = pipeline.context().stored();
  report["verified_bytes"] = pipeline.findings().verified_bytes.load();
  report["mismatched_bytes"] = pipeline.findings().mismatched_bytes.load() +
                               pipeline.held_findings().mismatched_bytes.load();
  report["attention_digest"] = pipeline.findings().digest.load();
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
      "\nms a token   overlapped %.1f, copies alone %.1f, kernels alone %.1f, "
      "no prefetch %.1f\n",
      ms("overlapped"), ms("transfer_alone"), ms("compute_alone"), ms("no_prefetch"));
  std::printf(
      "overlapped is %.2f times the longer of the two; %.0f %% of the shorter is hidden; "
      "without prefetch it takes %.2f times as long\n",
      median("total_over_longer"), 100 * median("hidden_share_of_shorter"),
      median("no_prefetch_over_total"));
  const json &in = report.at("fetched_bytes"), &out = report.at("stored_bytes");
  std::printf("GB fetched   %.2f from lent memory, %.2f from host memory; stored %.2f and %.2f\n",
              gb(in.at("peer")), gb(in.at("host")), gb(out.at("peer")), gb(out.at("host")));
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
  demand(report.at("lost_tensors") == 0, "a tensor was lost");
  demand(report.at("verified_bytes").get<double>() >= report.at("kv_bytes").get<double>(),
         "not even one context was verified");
  demand(report.at("fetched_bytes").at("peer") > 0, "nothing was fetched from lent memory");
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
