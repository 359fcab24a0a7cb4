// SPDX-License-Identifier: Apache-2.0
// Models and servers as JSON.
//
//   {"name": "Llama-3-8B", "layers": 32, "heads": 32, "kv_heads": 8, "head_dim": 128,
//    "hidden": 4096, "ffn": 14336, "gated_ffn": true, "vocab": 128256,
//    "measured": {"A100": "a100_llama-3-8b"}, "scaled": {"H100": "h100_llama-2-7b"}}
//
//   {"name": "2xA100-80G",
//    "gpu": {"name": "A100", "memory_gb": 80, "memory_gb_s": 2039, "tflops": 312},
//    "nvlink": {"latency_us": 64, "gb_s": 250, "source": "quoted: ..."}, "pcie": {...},
//    "gpus": 2, "network": {...}, "host": {"gb": 472, "source": "quoted: ..."}}
//
// The last line is of machines that pipelines are planned with, and may be left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "tools/sim/input/spec.hpp"

namespace aqua::sim {

// invalid_argument names the key that is missing, unknown or out of range.
[[nodiscard]] Result<ModelSpec> parse_model(std::string_view json);
[[nodiscard]] Result<ServerSpec> parse_server(std::string_view json);

// The files of examples/sim, built in under their names ("llama-3-8b", "a100").
struct Preset {
  std::string_view name;
  std::string_view kind;  // "model" or "server"
  std::string_view json;
};
[[nodiscard]] const std::vector<Preset>& presets();

// A preset's name or the path of a file. not_found lists the presets.
[[nodiscard]] Result<ModelSpec> load_model(const std::string& name_or_path);
[[nodiscard]] Result<ServerSpec> load_server(const std::string& name_or_path);

}  // namespace aqua::sim
