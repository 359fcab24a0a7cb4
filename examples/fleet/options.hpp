// SPDX-License-Identifier: Apache-2.0
// The command lines of fleet_engine and fleet_llama.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "model/toy_model.hpp"
#include "serve/cache.hpp"
#include "tools/options/command_line.hpp"

namespace aqua::fleet {

struct Options {
  std::string address = "127.0.0.1";
  int port = 0;
  std::string server{};  // this machine's name
  std::string coordinator = "none";
  std::uint32_t blocks = 512;  // of the pool, that this engine may hold
  std::uint32_t budget_tokens = 256;
  double iteration_ms = 0;
  std::string device = "emu:0";
  std::uint64_t link_kb_per_s = 0;  // of an emulated device, to host memory; 0: unpaced
  // Without a request for so long, an engine whose KV is in memory of its own lends it.
  std::chrono::milliseconds lend_after{0};  // 0: never
  CacheOptions cache{};
  std::string step{};  // at which it stops or is killed
  bool stop = false;
};

// Options of fleet_engine.
struct ToyOptions : Options {
  pipeline::ModelShape model{.layers = 2, .kv_heads = 2, .query_heads = 4, .head_bytes = 16};
};
// Options of fleet_llama.
struct LlamaOptions : Options {
  std::filesystem::path file{};  // GGUF
  unsigned threads = 1;
};

[[nodiscard]] CommandLine toy_line(ToyOptions& options);
[[nodiscard]] CommandLine llama_line(LlamaOptions& options);
// Throws Failure where options do not go together.
void check_options(const Options& options);

}  // namespace aqua::fleet
