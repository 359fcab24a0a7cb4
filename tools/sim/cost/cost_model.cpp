// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/cost/cost_model.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/concat.hpp"
#include "base/read_file.hpp"
#include "base/try.hpp"
#include "tools/report/text.hpp"
#include "tools/sim/input/layer_profile.hpp"

namespace aqua::sim {
namespace {

// Seconds of one layer's linear parts, against tokens.
struct LayerTimes {
  std::optional<LayerProfile> profile{};
  bool own = false;  // of this model, not of one that is scaled
};

Result<LayerTimes> load_times(const ModelSpec& model, const std::string& gpu,
                              const CostOptions& options, std::vector<Source>& sources) {
  const auto own = model.measured.find(gpu);
  const auto donor = model.scaled.find(gpu);
  const bool is_own = own != model.measured.end();
  if (options.profiles.empty() || (!is_own && donor == model.scaled.end())) {
    sources.push_back({"linear parts", "roofline", "peaks and efficiencies of the server's file"});
    return LayerTimes{};
  }
  const std::string stem = is_own ? own->second : donor->second.stem;
  AQUA_ASSIGN(const std::string text,
              read_file(options.profiles / "compute" / concat(stem, "_mlp.csv")));
  LayerTimes times{.own = is_own};
  AQUA_ASSIGN(times.profile, LayerProfile::read(text, options.tensor_parallel));
  if (is_own && times.profile->shape().hidden != model.hidden) {
    return Error{Code::invalid_argument, concat(stem, ": measured of another hidden size")};
  }
  sources.push_back({"linear parts", is_own ? "measured" : "scaled",
                     is_own ? stem : concat("the shape's share of ", stem)});
  return times;
}

// What the GEMMs reached: bandwidth with one token, operations with the most.
Roof measured_roof(const LayerProfile& profile, unsigned tensor_parallel, const ModelSpec& values) {
  const double weights = profile.shape().layer_weights() / tensor_parallel;
  const double most = profile.largest();
  return {.flops = 2 * weights * most / profile.layer_seconds(most),
          .bytes_per_second = weights * values.bytes_per_value / profile.layer_seconds(1)};
}

// Ring all-reduce of the two partial sums of each layer.
double all_reduce_seconds(const ModelSpec& model, const LinkSpec& link, double tokens, unsigned n) {
  if (n == 1) return 0;
  const double bytes = tokens * model.hidden * model.bytes_per_value;
  const double ring = 2.0 * (n - 1) / n * bytes / link.between_bytes_per_second();
  return 2.0 * model.layers * (ring + 2.0 * (n - 1) * link.latency_s);
}

}  // namespace

Result<CostModel> CostModel::build(const ModelSpec& model, const ServerSpec& server,
                                   const CostOptions& options) {
  if (options.tensor_parallel == 0 || options.max_batch_tokens == 0) {
    return Error{Code::invalid_argument, "cost model: no GPU or no token"};
  }
  CostModel cost;
  cost.model_ = model;
  cost.tensor_parallel_ = options.tensor_parallel;
  const unsigned tp = options.tensor_parallel;
  AQUA_ASSIGN(const LayerTimes times, load_times(model, server.gpu.name, options, cost.sources_));
  cost.roof_ = times.profile ? measured_roof(*times.profile, tp, model) : roof_of(server.gpu);
  cost.sources_.push_back({"attention, head", times.profile ? "scaled" : "roofline",
                           times.profile ? "roofline at the rates that the linear parts reached"
                                         : "peaks and efficiencies of the server's file"});
  AQUA_ASSIGN(const LinkSpec nvlink,
              resolve_link(server.nvlink, "NVLink", options.profiles, cost.sources_));
  if (tp > 1) cost.sources_.push_back({"all-reduce", "scaled", "ring over the NVLink model"});

  const auto layer = [&](double tokens) {
    if (!times.profile) return linear_layer_seconds(model, cost.roof_, tokens, tp);
    const double measured = times.profile->layer_seconds(tokens);
    if (times.own) return measured;
    return measured * linear_layer_seconds(model, cost.roof_, tokens, tp) /
           linear_layer_seconds(times.profile->shape(), cost.roof_, tokens, tp);
  };
  const auto embedding = [&](double tokens) {
    if (times.profile) return times.profile->embedding_seconds(tokens);
    return tokens * model.hidden * model.bytes_per_value * 2 / cost.roof_.bytes_per_second;
  };
  for (std::uint32_t n = 0; n <= options.max_batch_tokens; ++n) {
    const double tokens = std::max(n, 1u);
    const double reduce = all_reduce_seconds(model, nvlink, tokens, tp);
    const double one = layer(tokens), rest = embedding(tokens);
    cost.linear_.push_back(picos(model.layers * one + rest + reduce));
    cost.layer_s_.push_back(one + reduce / model.layers);
    cost.embedding_s_.push_back(rest);
    cost.head_.push_back(picos(head_seconds(model, cost.roof_, n, tp)));
  }
  cost.decode_per_token_ = picos(model.kv_bytes_per_token() / tp / cost.roof_.bytes_per_second);
  return cost;
}

CostModel CostModel::fitted(const CostFit& fit, std::uint32_t max_batch_tokens) {
  CostModel cost;
  for (std::uint32_t n = 0; n <= max_batch_tokens; ++n) {
    cost.linear_.push_back(picos(fit.linear(std::max(n, 1U))));
    cost.head_.push_back(picos(fit.per_row_s * n));
  }
  cost.decode_per_token_ = picos(fit.per_kv_token_s);
  cost.per_pair_s_ = fit.per_pair_s;
  cost.per_any_pair_ = picos(fit.per_any_pair_s);
  cost.kv_step_ = fit.kv_step_tokens;
  cost.sources_.push_back({"iterations", "measured", "least squares over a recorded run"});
  return cost;
}

Picos CostModel::prefill_attention(std::uint32_t tokens, std::uint64_t past) const {
  if (per_pair_s_) {
    const double pairs = tokens * (static_cast<double>(past) + (tokens + 1.0) / 2);
    return picos(pairs * *per_pair_s_);
  }
  return picos(
      attention_seconds(model_, roof_, tokens, static_cast<double>(past), tensor_parallel_));
}

Picos CostModel::prompt_alone(std::uint32_t prompt, std::uint32_t output) const {
  Picos total = 0;
  for (std::uint32_t done = 0; done < prompt;) {
    const std::uint32_t chunk = std::min(prompt - done, max_batch_tokens());
    total += linear(chunk) + prefill_attention(chunk, done) + any_pairs(chunk, done + chunk);
    done += chunk;
  }
  total += head(1);
  for (std::uint32_t i = 1; i < output; ++i) {
    total += linear(1) + head(1) + decode_per_token_ * static_cast<Picos>(prompt + i) +
             any_pairs(1, prompt + i);
  }
  return total;
}

Result<LinkSpec> resolve_link(const LinkSpec& link, const std::string& name,
                              const std::filesystem::path& profiles, std::vector<Source>& sources) {
  LinkSpec resolved = link;
  if (!link.fit.empty() && !profiles.empty()) {
    AQUA_ASSIGN(const std::string text, read_file(profiles / "network" / link.fit));
    AQUA_ASSIGN(auto transfers, read_send_recv(text, link.devices_per_node));
    AQUA_ASSIGN(const LinkFit fit, fit_link(std::move(transfers)));
    resolved.latency_s = fit.latency_s;
    resolved.in_bytes_per_second = resolved.out_bytes_per_second = fit.bytes_per_second;
    const auto percent = [](double share) { return std::round(share * 1000) / 10; };
    resolved.source =
        concat("measured: ", link.fit, ", ", fit.fitted, " sizes fitted, on ", fit.checked,
               " others off by ", percent(fit.mean_error), " % in the mean, ",
               percent(fit.p90_error), " % at the 90th percentile");
  }
  const std::size_t colon = resolved.source.find(':');
  const bool labelled = colon != std::string::npos && resolved.source.size() > colon + 2;
  sources.push_back({name, labelled ? resolved.source.substr(0, colon) : "assumed",
                     labelled ? resolved.source.substr(colon + 2) : resolved.source});
  return resolved;
}

}  // namespace aqua::sim
