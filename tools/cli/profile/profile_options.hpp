// SPDX-License-Identifier: Apache-2.0
// The command line of `aqua profile`.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "tools/options/command_line.hpp"
#include "tools/profiler/load/sla.hpp"
#include "tools/profiler/memory/memory_reading.hpp"
#include "tools/profiler/search/rate_search.hpp"

namespace aqua::tool {

enum class ProfileKind : std::uint8_t { llm, image, audio };

struct ProfileOptions {
  std::string url{};
  std::string out{};
  std::string html{};  // empty: no page
  bool json = false;   // print the profile instead of a text
  bool resume = false;
  bool progress = true;
  ProfileKind kind = ProfileKind::llm;
  std::string model{};  // empty: the engine's first
  std::chrono::seconds timeout{60};
  double speed = 1;
  // llm
  std::string trace{};
  profiler::RateRange range{};
  profiler::Sla sla{};
  std::uint64_t requests = 1000;
  std::uint64_t seed = 1;
  std::uint64_t context = 0;  // tokens; 0: as the engine tells
  std::uint64_t chunk = 512;  // of the engine: noted, not set
  std::vector<double> bursts{2, 3};
  double burst_seconds = 60;
  std::uint64_t prefix_prompts = 0;
  std::uint64_t long_prompt = 0;
  // image, audio
  std::string path{};  // empty: OpenAI's of the kind
  std::string body{};  // a file; empty: one made up here
  std::uint64_t most_batch = 64;
  // memory
  double threshold_gb = 10;
  profiler::MemoryOptions memory{};
};

// The line that fills `options`, which must outlive it. Defaults in its help are those of
// `options`.
[[nodiscard]] CommandLine profile_line(ProfileOptions& options);
// invalid_argument names the argument and what it may be.
[[nodiscard]] Result<ProfileOptions> parse_profile_options(
    std::span<const std::string_view> arguments);

}  // namespace aqua::tool
