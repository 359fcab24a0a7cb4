// SPDX-License-Identifier: Apache-2.0
// Traces that are always the same.
#pragma once

#include "tools/sim/input/trace.hpp"

namespace aqua::sim::test {

// A trace of `n` requests of one size; arrivals are a workload's.
inline Trace constant_trace(std::uint32_t prompt, std::uint32_t output, std::size_t n = 1) {
  Trace trace;
  for (std::size_t i = 0; i < n; ++i) {
    trace.requests.push_back({.prompt_tokens = prompt, .output_tokens = output});
  }
  return trace;
}

// Lengths from 16 to 2,000 and answers from 1 to 400, always the same.
inline Trace mixed_trace(std::size_t n) {
  Trace trace;
  std::uint32_t x = 12345;
  for (std::size_t i = 0; i < n; ++i) {
    x = x * 1664525 + 1013904223;
    const std::uint32_t prompt = 16 + (x >> 8) % 1985;
    x = x * 1664525 + 1013904223;
    trace.requests.push_back({.prompt_tokens = prompt, .output_tokens = 1 + (x >> 8) % 400});
  }
  return trace;
}

}  // namespace aqua::sim::test
