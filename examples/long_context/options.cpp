// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include "must.hpp"

namespace aqua::long_context {
namespace {

using example::Failure;

constexpr const char* kAbout = R"(Usage: long_context [options]

Generates tokens from a context four times as large as the (emulated) GPU's memory. Its keys and
values are in a LayerPool: most layers are away, in memory lent by another process and beyond that
in host memory, come in before their turn while others are computed with, and each new token's block
goes back. Every word of every layer is compared in every step. Measured in the same run: all of it,
the copies alone, and the kernels alone, on another device that has room for all layers.

Takes about four times the context in memory. The exit status is 0 only if no byte was wrong.)";

}  // namespace

std::size_t Options::device_bytes() const {
  const auto bytes = static_cast<std::size_t>(static_cast<double>(shape().kv_bytes()) / times);
  return bytes / kSlabBytes * kSlabBytes;
}

CommandLine options_line(Options& options) {
  CommandLine line("", kAbout);
  line.number("--layers", options.layers, kLeastFrames, 256, "N", "of the model")
      .number("--prompt-tokens", options.prompt_tokens, 16, 1'000'000, "N",
              "of context, in whole blocks of 16; 1 KiB a token and layer")
      .number("--output-tokens", options.output_tokens, 1, 1'000'000, "N",
              "of an answer; then another one to the same prompt begins")
      .number("--times", options.times, 1, 100, "X", "the context over the device's memory")
      .number("--lent-percent", options.lent_percent, 1, 100, "N",
              "of all layers, that the neighbour lends memory for")
      .number("--link-mb-per-s", options.link_mb_per_s, 0, 1'000'000, "N",
              "of the emulated link, to both tiers; 0: as fast as the host copies")
      .number("--queries", options.queries, 0, 10'000, "N",
              "that read each key and value: how much there is to compute")
      .number("--steps", options.steps, 1, 10'000, "N", "in each measurement ...")
      .number("--rounds", options.rounds, 1, 1000, "N",
              "... and so many rounds of measurements, after one that is not counted")
      .number("--at-most", options.at_most, 1, 100, "X",
              "fail if all of it takes more than X times the longer of kernels and copies")
      .flag("--reclaim", options.reclaim,
            "then the lender takes all its memory back in mid-generation, and lends again")
      .flag("--flip-a-byte", options.flip,
            "damage one stored byte: the run must fail, or its checks are worthless")
      .text("--json", options.json, "FILE", "write the result");
  example::add_role_options(line, options.role);
  return line;
}

void check_options(const Options& options) {
  if (options.role.kind != example::NeighbourRole::Kind::none) return;
  const Shape shape = options.shape();
  if (shape.prompt_tokens % kTokensPerBlock != 0) {
    throw Failure("--prompt-tokens " + std::to_string(shape.prompt_tokens) +
                  ": expected whole blocks of " + std::to_string(kTokensPerBlock));
  }
  if (options.frames() >= kLeastFrames) return;
  throw Failure("three layers of " + std::to_string(shape.frame_bytes()) +
                " bytes do not fit a device of " + std::to_string(options.device_bytes()) +
                ": give more --layers, more --prompt-tokens, or fewer --times");
}

}  // namespace aqua::long_context
