// SPDX-License-Identifier: Apache-2.0
// Whether the rule of microbatch swapping (aqua/kv_stream/swap.hpp) is right about MicrobatchSwap:
// a stage of four microbatches of B requests that stay on the device, against four of 2B that are
// swapped over a link to host memory, at 40 points; and a stage of two, which has one buffer, so
// that no copy hides behind a step, at 20. Kernels sleep for as long as a step takes; the copies
// are real ones, at the rate of the emulated GPU's link. What a GPU would do it does not say, nor
// what lent memory does.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/kv_stream/microbatch_swap.hpp"
#include "aqua/kv_stream/swap.hpp"
#include "aqua/runtime.hpp"
#include "must.hpp"
#include "report/goal.hpp"
#include "report/report_file.hpp"
#include "samples.hpp"

namespace {

using namespace aqua::literals;
using namespace aqua::bench;
using Json = nlohmann::json;

constexpr std::uint32_t kPrompt = 16, kTokens = 16;  // blocks of a token of each request
constexpr std::uint64_t kLink = 1'000'000'000;
constexpr double kStep = 6e-3;  // of B requests
// A step of 2B over one of B, and the copy of 2B after half of the tokens over a step of B.
constexpr double kLarger[] = {1, 1.2, 1.5, 1.9};
constexpr double kLargerOfTwo[] = {1, 1.2};  // beyond them hardly any point is left where it pays
constexpr double kCopies[] = {0.1, 0.3, 0.5, 0.7, 0.9, 1.1, 1.4, 1.7, 2.3, 3};

class Stage {
 public:
  explicit Stage(std::uint32_t microbatches)
      : microbatches_(microbatches),
        gpu_(must(aqua::Runtime::open(
            {.device = "emu:0",
             .coordinator = "none",
             .host_bytes = 512_MiB,
             .curve_directory = "off",
             .emulated = {.total_bytes = 256_MiB, .link_bytes_per_second = kLink}}))),
        stream_(must(aqua::emulated::create_stream(gpu_))) {}
  ~Stage() { must(aqua::emulated::destroy_stream(gpu_, stream_)); }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // Seconds of a step of one microbatch, the mean over all.
  double kept(double step_seconds) {
    compute(step_seconds);  // the stream is awake
    must(aqua::emulated::synchronize(gpu_, stream_));
    const double begin = now();
    for (std::uint32_t i = 0; i < kTokens * microbatches_; ++i) compute(step_seconds);
    must(aqua::emulated::synchronize(gpu_, stream_));
    return (now() - begin) / (kTokens * microbatches_);
  }

  double swapped(double step_seconds, std::size_t token_bytes) {
    const std::size_t buffer = (kPrompt + kTokens) * token_bytes;
    const std::uint32_t count = aqua::kv_stream::swap_buffers(microbatches_);
    const auto memory = must(aqua::emulated::allocate(gpu_, count * buffer));
    std::vector<aqua::Layout> buffers;
    for (std::size_t at = 0; at < count * buffer; at += buffer) {
      buffers.push_back(must(aqua::Layout::make({.layers = 1,
                                                 .planes_per_layer = 1,
                                                 .planes = {memory.data() + at},
                                                 .block_count = kPrompt + kTokens,
                                                 .block_stride = token_bytes,
                                                 .axes = aqua::BlockAxes::whole(token_bytes)})));
    }
    auto swap = must(
        aqua::MicrobatchSwap::create(gpu_, {.microbatches = microbatches_, .buffers = buffers}));
    std::vector<std::uint32_t> prompt(kPrompt);
    std::iota(prompt.begin(), prompt.end(), 0U);
    std::uint64_t last = 0;
    for (std::uint32_t m = 0; m < microbatches_; ++m) {
      must(swap.begin_turn(stream_, m));
      last = must(swap.end_turn(prompt));
    }
    while (!must(swap.turn_done(last))) std::this_thread::yield();
    const std::uint64_t before = swap.status().fetched_bytes;
    const double begin = now();
    for (std::uint32_t i = 0; i < kTokens * microbatches_; ++i) {
      must(swap.begin_turn(stream_, i % microbatches_));
      compute(step_seconds);
      const std::vector<std::uint32_t> written{kPrompt + i / microbatches_};
      last = must(swap.end_turn(written));
    }
    must(aqua::emulated::synchronize(gpu_, stream_));
    const double seconds = (now() - begin) / (kTokens * microbatches_);
    while (!must(swap.turn_done(last))) std::this_thread::yield();
    moved_ = swap.status().fetched_bytes - before;
    return seconds;
  }
  // By the last swapped(), into the device.
  [[nodiscard]] std::uint64_t moved() const { return moved_; }

 private:
  void compute(double step_seconds) {
    must(aqua::emulated::launch(gpu_, stream_, [step_seconds] {
      std::this_thread::sleep_for(std::chrono::duration<double>(step_seconds));
    }));
  }

  const std::uint32_t microbatches_;
  aqua::Runtime gpu_;
  const aqua::Stream stream_;
  std::uint64_t moved_ = 0;
};

// What the rule says of one stage, whose microbatches have their prompts already.
double said(std::uint32_t microbatches, double larger, std::size_t token_bytes) {
  const aqua::kv_stream::SwapCopies copies{
      .buffers = aqua::kv_stream::swap_buffers(microbatches),
      .places = {.host = microbatches},
      .host_seconds = static_cast<double>(token_bytes) / static_cast<double>(kLink)};
  return aqua::kv_stream::swapping_gain(
      {.depth = 1,
       .prompt_tokens = kPrompt,
       .tokens = kTokens,
       .kept = {.requests = 1, .token_seconds = kStep},
       .swapped = {.requests = 2, .token_seconds = kStep * larger},
       .copies = copies});
}

Json measure(std::uint32_t microbatches, std::span<const double> all_larger, unsigned rounds) {
  Stage stage(microbatches);
  Json report;
  std::size_t right = 0, points = 0;
  double lost = 0, most = 0, off = 0;
  for (const double larger : all_larger) {
    for (const double copy : kCopies) {
      const auto bytes = static_cast<std::size_t>(copy * kStep * static_cast<double>(kLink) /
                                                  (kPrompt + kTokens / 2)) /
                         64 * 64;
      std::vector<double> kept, swapped;
      for (unsigned round = 0; round < rounds; ++round) {
        kept.push_back(stage.kept(kStep));
        swapped.push_back(stage.swapped(kStep * larger, bytes));
      }
      const double gain = 2 * median(ratios(kept, swapped)),
                   rule = said(microbatches, larger, bytes);
      const bool agrees = (gain > 1) == (rule > 1);
      ++points;
      right += agrees ? 1U : 0U;
      // What is lost by doing as the rule says.
      if (!agrees) lost = std::max(lost, rule > 1 ? 1 - gain : 1 - 1 / gain);
      most = std::max(most, gain);
      off = std::max(off, std::max(rule / gain, gain / rule) - 1);
      report["rows"].push_back({{"microbatches", microbatches},
                                {"step_of_2b_over_step_of_b", larger},
                                {"copy_over_step_of_b", copy},
                                {"seconds_of_a_step_kept", median(kept)},
                                {"seconds_of_a_step_swapped", median(swapped)},
                                {"samples", rounds},
                                {"bytes_moved_in", stage.moved()},
                                {"gain", gain},
                                {"gain_by_the_rule", rule},
                                {"rule_is_right", agrees}});
    }
  }
  report["largest_error_of_a_gain"] = off;
  const std::string of = ", " + std::to_string(microbatches) + " microbatches";
  report["largest_gain"] = most;
  report["goals"] = {judge("points where the rule is right, of all" + of, Bound::at_least, 0.95,
                           static_cast<double>(right) / static_cast<double>(points)),
                     judge("throughput lost where it is not" + of, Bound::at_most, 0.03, lost)};
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  std::string json;
  unsigned rounds = 5;
  CLI::App app(
      "Microbatches that are swapped against smaller ones that are kept, on an emulated GPU.");
  app.add_option("--rounds", rounds)->check(CLI::Range(1, 1000));
  app.add_option("--json", json, "a file for the report");
  CLI11_PARSE(app, argc, argv);
  Json report = measure(4, kLarger, rounds);
  report["goals"].push_back(
      judge("the largest gain", Bound::at_least, 1.8, report["largest_gain"].get<double>()));
  const Json one_buffer = measure(2, kLargerOfTwo, rounds);
  for (const char* const key : {"rows", "goals"})
    report[key].insert(report[key].end(), one_buffer[key].begin(), one_buffer[key].end());
  for (const char* const key : {"largest_gain", "largest_error_of_a_gain"})
    report["one_buffer"][key] = one_buffer[key];
  for (const Json& row : report["rows"]) {
    std::printf("%u microbatches, step x %.1f, copy %.1f steps: gain %.2f, by the rule %.2f%s\n",
                row["microbatches"].get<unsigned>(), row["step_of_2b_over_step_of_b"].get<double>(),
                row["copy_over_step_of_b"].get<double>(), row["gain"].get<double>(),
                row["gain_by_the_rule"].get<double>(),
                row["rule_is_right"].get<bool>() ? "" : ", wrong");
  }
  print_goals(report["goals"]);
  write_report(json, report);
  return 0;
}
