// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/decide/check.hpp"

#include <cmath>
#include <set>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "systems/kv_stream/decide/side.hpp"

namespace aqua::kv_stream {
namespace {

constexpr double kMostBytes = 4e18;  // sums of bytes stay within 64 bits below it
constexpr double kMostSeconds = 1e9;
constexpr std::uint64_t kMostRequests = 1'000'000'000'000;

template <typename... Parts>
Error wrong(const char* call, const Parts&... parts) {
  return Error{Code::invalid_argument, concat(call, ": ", parts...)};
}

Result<void> check_counts(const char* call, const PlanInput& in) {
  if (in.machines == 0) return wrong(call, "machines is 0: at least 1");
  if (in.machines > kMostMachines) {
    return wrong(call, "machines is ", in.machines, ": at most ", kMostMachines,
                 ", every split of which is tried");
  }
  if (in.layers == 0) return wrong(call, "layers is 0: at least 1");
  if (in.layer_weight_bytes == 0) return wrong(call, "layer_weight_bytes is 0: at least 1");
  if (in.layer_kv_bytes == 0) return wrong(call, "layer_kv_bytes is 0: at least 1");
  if (in.prompt_tokens == 0) {
    return wrong(call, "prompt_tokens is 0, an empty prompt: at least 1");
  }
  if (in.new_tokens == 0) {
    return wrong(call, "new_tokens is 0, so that nothing is generated: at least 1");
  }
  if (in.reserved_tokens > 0 && in.reserved_tokens < in.new_tokens) {
    return wrong(call, "reserved_tokens is ", in.reserved_tokens, ": at least the ", in.new_tokens,
                 " new_tokens, or 0");
  }
  if (in.requests > kMostRequests) {
    return wrong(call, "requests is ", in.requests, ": at most ", kMostRequests,
                 ", or 0, which is always enough");
  }
  if (in.reserved_bytes >= in.machine_bytes) {
    return wrong(call, "reserved_bytes is ", in.reserved_bytes, " of machine_bytes ",
                 in.machine_bytes, ": nothing is left for the model");
  }
  return {};
}

Result<void> check_away(const char* call, const PlanInput& in) {
  const AwayMemory& away = in.away;
  const auto pair = [&](const char* name, std::uint64_t bytes, double rate) -> Result<void> {
    if (!(rate >= 0 && std::isfinite(rate))) {
      return wrong(call, "away.", name, "_bytes_per_second is ", rate,
                   ": at least 0, which is no swapping");
    }
    if ((bytes > 0) == (rate > 0)) return {};
    return wrong(call, "away.", name, "_bytes is ", bytes, " and its rate ", rate,
                 ": swapping needs both; without it both are 0");
  };
  AQUA_TRY(pair("host", away.host_bytes, away.host_bytes_per_second));
  AQUA_TRY(pair("lent", away.lent_bytes, away.lent_bytes_per_second));
  if (away.lent_bytes > 0 && away.host_bytes == 0) {
    return wrong(call, "away.lent_bytes is ", away.lent_bytes,
                 " and away.host_bytes 0: what is lent needs its exit in host memory");
  }
  if (in.only_swapped && away.host_bytes == 0)
    return wrong(call, "only_swapped is set and away.host_bytes 0: nothing can be swapped");
  return {};
}

Result<void> check_rates(const char* call, const PlanInput& in) {
  if (!(in.stream_overhead >= 1 && std::isfinite(in.stream_overhead))) {
    return wrong(call, "stream_overhead is ", in.stream_overhead,
                 ": at least 1, which is streaming that costs nothing");
  }
  if (!(in.machine_hour_price >= 0 && std::isfinite(in.machine_hour_price))) {
    return wrong(call, "machine_hour_price is ", in.machine_hour_price, ": at least 0");
  }
  return check_away(call, in);
}

Result<void> check_microbatches(const char* call, const PlanInput& in) {
  if (in.microbatches.empty()) return wrong(call, "microbatches is empty: at least one size");
  std::set<std::uint32_t> sizes;
  for (const MicrobatchCost& each : in.microbatches) {
    if (each.requests == 0) return wrong(call, "a microbatch has 0 requests: at least 1");
    if (!sizes.insert(each.requests).second) {
      return wrong(call, "the microbatch of ", each.requests, " is there twice: once");
    }
    const auto cost = [&](const char* name, double seconds) -> Result<void> {
      if (seconds > 0 && seconds <= kMostSeconds) return {};
      return wrong(call, name, " of the microbatch of ", each.requests, " is ", seconds,
                   ": above 0, at most ", kMostSeconds);
    };
    AQUA_TRY(cost("prompt_seconds", each.prompt_seconds));
    AQUA_TRY(cost("token_seconds", each.token_seconds));
    if (each.stream_seconds != 0) AQUA_TRY(cost("stream_seconds", each.stream_seconds));
  }
  // The largest sum that is computed: all layers on one machine, each microbatch of a pipeline.
  const double tokens = static_cast<double>(in.prompt_tokens) + kept_tokens(in);
  const double kv = tokens * *sizes.rbegin() * static_cast<double>(in.layer_kv_bytes) *
                    (kMostMachines + static_cast<double>(in.streaming_buffers) + 1);
  const double all = in.layers * (static_cast<double>(in.layer_weight_bytes) + kv);
  if (all + static_cast<double>(in.reserved_bytes) > kMostBytes) {
    return wrong(call, "weights and KV of ", in.layers, " layers may take ", all,
                 " bytes: at most ", kMostBytes);
  }
  return {};
}

}  // namespace

Result<void> check(const char* call, const PlanInput& input) {
  AQUA_TRY(check_counts(call, input));
  AQUA_TRY(check_rates(call, input));
  return check_microbatches(call, input);
}

}  // namespace aqua::kv_stream
