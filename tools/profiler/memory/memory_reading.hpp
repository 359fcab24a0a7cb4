// SPDX-License-Identifier: Apache-2.0
// How much of its KV memory an engine uses now, as it tells it.
//
//   vllm        kv_cache_usage_perc (older: gpu_cache_usage_perc) of the blocks that
//               cache_config_info names; of a data-parallel one all engines together
//   llama       /props and /slots: tokens in the slots that compute, of those that all could hold
//   prometheus  two metrics by name, in bytes
//   aqua        its load reports to its own runtime (aqua/northbound/load_metrics.hpp)
//   client      nothing is told: counted from the requests in flight (load_memory.hpp)
//
// Threads: plain functions. Pure: they read what the engine answered.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "aqua/result.hpp"

namespace aqua::profiler {

enum class MemorySource : std::uint8_t { automatic, vllm, llama, prometheus, aqua, client };

[[nodiscard]] std::string_view to_string(MemorySource source) noexcept;
// invalid_argument lists the names.
[[nodiscard]] Result<MemorySource> parse_memory_source(std::string_view name);

struct MemoryOptions {
  MemorySource source = MemorySource::automatic;
  double kv_bytes = 0;         // the whole pool; 0: as the engine tells
  double bytes_per_token = 0;  // of KV; 0: not known
  std::string used_metric{};   // prometheus
  std::string total_metric{};  // prometheus; empty: kv_bytes
};

// At most 2^53 bytes, used at most total.
struct MemoryReading {
  double used_bytes = 0;
  double total_bytes = 0;
};

// data_loss when the engine's figures cannot be true, and says which; failed_precondition when an
// option is missing, and says which.
[[nodiscard]] Result<MemoryReading> read_vllm(std::string_view metrics,
                                              const MemoryOptions& options);
[[nodiscard]] Result<MemoryReading> read_llama(std::string_view props, std::string_view slots,
                                               const MemoryOptions& options);
[[nodiscard]] Result<MemoryReading> read_prometheus(std::string_view metrics,
                                                    const MemoryOptions& options);
// The pool is options.kv_bytes, where that is not 0.
[[nodiscard]] Result<MemoryReading> read_load_reports(std::string_view metrics,
                                                      MemoryOptions options);

}  // namespace aqua::profiler
