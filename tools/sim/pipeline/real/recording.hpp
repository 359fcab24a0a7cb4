// SPDX-License-Identifier: Apache-2.0
// What a real pipeline did: its requests, which all came at once, and how long each step of each
// stage took. examples/pipeline writes it; docs/plan/pipelines.md has the keys.
//
//   {"format": "aqua-pipeline-recording-1", "engine": "examples/pipeline 2x1",
//    "layers": 7, "stages": 2, "recovery": "reprefill", "makespan_s": 1.5,
//    "requests": [[prompt tokens, output tokens], ...],
//    "steps": [[sequence, stage, begin, end, first token, tokens], ...],
//    "outages": [[stage, noticed, resumed], ...]}
//
// One microbatch of one request a stage is under way. A step is tokens of one request at
// consecutive positions, from when a stage has its input until its output is handed on.
//
// Units: seconds since the run began. Threads: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "tools/sim/input/trace.hpp"
#include "tools/sim/pipeline/shape.hpp"

namespace aqua::sim {

struct RecordedStep {
  std::uint64_t sequence = 0;
  std::uint32_t stage = 0;
  double begin = 0, end = 0;
  std::uint32_t first = 0, tokens = 0;

  [[nodiscard]] double seconds() const noexcept { return end - begin; }
  // Pairs of a token that is computed with one that it attends to, itself included.
  [[nodiscard]] double pairs() const noexcept {
    return static_cast<double>(tokens) * first + tokens * (tokens + 1.0) / 2;
  }
};

struct RecordedOutage {
  std::uint32_t stage = 0;
  double noticed = 0, resumed = 0;
};

struct PipelineRecording {
  std::string engine{};
  std::uint32_t layers = 0, stages = 0;
  Recovery recovery = Recovery::reprefill;
  double makespan_s = 0;
  std::vector<TraceRequest> requests{};
  std::vector<RecordedStep> steps{};  // of one stage in the order of time
  std::vector<RecordedOutage> outages{};
};

inline constexpr std::string_view kPipelineRecording = "aqua-pipeline-recording-1";

// invalid_argument names what is missing or cannot be.
[[nodiscard]] Result<PipelineRecording> parse_pipeline_recording(std::string_view json);

}  // namespace aqua::sim
