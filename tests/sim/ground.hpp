// Scenarios for tests: small numbers, the roofline alone, nothing to download.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "sim/comparison.hpp"
#include "sim/spec_json.hpp"

namespace aqua::sim::test {

template <typename T>
T must(Result<T> result) {
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  if (!result.ok()) std::abort();
  return std::move(result).value();
}

inline Scenario small_scenario() {
  Scenario scenario;
  scenario.model = must(load_model("llama-3-8b"));
  scenario.server = must(load_server("a100"));
  scenario.kv_tokens = 20'000;
  return scenario;
}

inline Outcome play(const Scenario& scenario, const char* policy, const Workload& workload) {
  const Ground ground = must(resolve(scenario, {}));
  return must(simulate(ground, must(parse_policy(policy)), workload));
}

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

// Of the folder that AQUA_DATA names, or empty: then skip and say so.
inline std::filesystem::path data(const char* below) {
  const char* root = std::getenv("AQUA_DATA");
  return root == nullptr || *root == '\0' ? std::filesystem::path{}
                                          : std::filesystem::path(root) / below;
}

}  // namespace aqua::sim::test
