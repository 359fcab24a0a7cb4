// SPDX-License-Identifier: Apache-2.0
#include "aqua/c/northbound.h"

#include "capi/call.hpp"
#include "capi/convert.hpp"
#include "capi/objects.hpp"
#include "capi/sized.hpp"

namespace aqua::capi {
namespace {

LoadBand to_band(const aqua_load_band& c) {
  return {c.rate_ratio, c.rate_slack, c.queue_ratio, c.queue_slack};
}

ProducerOptions to_options(const aqua_producer_options& c) {
  return {.rise = to_band(c.rise),
          .settle = to_band(c.settle),
          .settle_time = std::chrono::milliseconds(c.settle_ms),
          .min_time_between_flips = std::chrono::milliseconds(c.min_ms_between_flips),
          .headroom = c.headroom,
          .min_offer_bytes = c.min_offer_bytes};
}

LoadProfile to_profile(const aqua_load_profile& c) {
  LoadProfile profile;
  profile.steady_requests_per_second = c.steady_requests_per_second;
  profile.steady_queue_length = c.steady_queue_length;
  profile.kv_bytes_total = c.kv_bytes_total;
  profile.steady_free_bytes = c.steady_free_bytes;
  profile.producer_threshold_bytes = c.producer_threshold_bytes;
  return profile;
}

Result<std::chrono::microseconds> microseconds(const char* field, std::uint64_t us) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::chrono::microseconds::max().count());
  if (us <= kMost) return std::chrono::microseconds(us);
  return Error{Code::invalid_argument,
               concat("aqua_runtime_report: ", field, " is ", us, " microseconds")};
}

Result<LoadReport> to_report(const aqua_load_report& c) {
  LoadReport report;
  report.requests_per_second = c.requests_per_second;
  report.queue_length = c.queue_length;
  report.kv_bytes_used = c.kv_bytes_used;
  report.kv_bytes_wanted = c.kv_bytes_wanted;
  Latency& first = report.time_to_first_token;
  Latency& each = report.time_per_output_token;
  AQUA_ASSIGN(first.p50, microseconds("time_to_first_token_p50_us", c.time_to_first_token_p50_us));
  AQUA_ASSIGN(first.p99, microseconds("time_to_first_token_p99_us", c.time_to_first_token_p99_us));
  AQUA_ASSIGN(each.p50,
              microseconds("time_per_output_token_p50_us", c.time_per_output_token_p50_us));
  AQUA_ASSIGN(each.p99,
              microseconds("time_per_output_token_p99_us", c.time_per_output_token_p99_us));
  return report;
}

}  // namespace
}  // namespace aqua::capi

using namespace aqua::capi;
using aqua::Result;

extern "C" {

aqua_error* aqua_runtime_set_profile(aqua_runtime runtime, const aqua_load_profile* profile,
                                     const aqua_producer_options* options) {
  return call([&]() -> Result<void> {
    AQUA_ASSIGN(const auto used, runtimes().use("aqua_runtime_set_profile", runtime.id));
    AQUA_ASSIGN(const auto found, take_in("aqua_runtime_set_profile: profile", profile,
                                          aqua_load_profile AQUA_LOAD_PROFILE_INIT));
    aqua_producer_options wanted = AQUA_PRODUCER_OPTIONS_INIT;
    if (options != nullptr) {
      AQUA_ASSIGN(wanted, take_in("aqua_runtime_set_profile: options", options, wanted));
    }
    return used->set_profile(to_profile(found), to_options(wanted));
  });
}

aqua_error* aqua_runtime_report(aqua_runtime runtime, const aqua_load_report* report) {
  return call([&]() -> Result<void> {
    AQUA_ASSIGN(const auto used, runtimes().use("aqua_runtime_report", runtime.id));
    AQUA_ASSIGN(const auto given, take_in("aqua_runtime_report: report", report));
    AQUA_ASSIGN(const auto load, to_report(given));
    return used->report(load);
  });
}

aqua_error* aqua_runtime_get_budget(aqua_runtime runtime, aqua_memory_budget* budget) {
  return call([&]() -> Result<void> {
    AQUA_TRY(check_size("aqua_runtime_get_budget: budget", budget));
    AQUA_ASSIGN(const auto used, runtimes().use("aqua_runtime_get_budget", runtime.id));
    give_out(to_c(used->budget()), budget);
    return {};
  });
}

}  // extern "C"
