// SPDX-License-Identifier: Apache-2.0
// What is simulated: a model and the server it runs on. Plain data, written as JSON
// (examples/sim); spec_json.hpp reads it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace aqua::sim {

struct ModelSpec {
  std::string name;
  std::uint32_t layers = 0;
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t head_dim = 0;
  std::uint32_t hidden = 0;
  std::uint32_t ffn = 0;
  bool gated_ffn = true;  // three matrices instead of two
  std::uint32_t vocab = 0;
  std::uint32_t bytes_per_value = 2;
  // GPU name -> stem of compute/<stem>_mlp.csv with this model's own layer times.
  std::map<std::string, std::string> measured{};
  // The same of another model, whose times are scaled by the roofline.
  struct Donor {
    std::string stem;
  };
  std::map<std::string, Donor> scaled{};

  // Values in the four linear parts of one layer.
  [[nodiscard]] double layer_weights() const;
  [[nodiscard]] double weight_bytes() const;  // all layers, embedding and head
  // Bytes of one token's KV in all layers.
  [[nodiscard]] double kv_bytes_per_token() const;
};

struct GpuSpec {
  std::string name;
  double memory_bytes = 0;
  double memory_bytes_per_second = 0;  // peak
  double flops = 0;                    // peak, dense, of the model's type
  // Shares of the peaks, where no measurement says better.
  double memory_efficiency = 0.8;
  double compute_efficiency = 0.7;
};

// latency + bytes / bandwidth. To the GPU whose link it is, and from it.
struct LinkSpec {
  double latency_s = 0;
  double in_bytes_per_second = 0;
  double out_bytes_per_second = 0;
  std::string source;  // "quoted: ...", "assumed: ..."; "measured: ..." once fitted
  // network/<fit> under the profiles gives both where it is there.
  std::string fit{};
  unsigned devices_per_node = 2;

  // Between two GPUs with such a link.
  [[nodiscard]] double between_bytes_per_second() const {
    return std::min(in_bytes_per_second, out_bytes_per_second);
  }
  // Half of what `bytes` take out and back, without the latency.
  [[nodiscard]] double one_way_seconds(double bytes) const {
    return (bytes / in_bytes_per_second + bytes / out_bytes_per_second) / 2;
  }
};

struct ServerSpec {
  std::string name;
  GpuSpec gpu;
  LinkSpec nvlink;    // GPU to GPU
  LinkSpec pcie;      // GPU to host; of a GH200, NVLink-C2C
  unsigned gpus = 1;  // of a machine, where machines are planned with
  // To other machines, of all its GPUs together, each way.
  std::optional<LinkSpec> network{};
  double host_bytes = 0;  // of a machine; 0: not said
  std::string host_source{};
  double staging_bytes = 64e6;  // window of gathered copies; two of them
  double usable_memory = 0.9;   // of a GPU, by weights and KV cache
  std::uint32_t kv_block_tokens = 16;
};

}  // namespace aqua::sim
