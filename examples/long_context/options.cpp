// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include "layer_buffers.hpp"

namespace aqua::long_context {
namespace {

using example::Failure;

constexpr std::size_t kGranule = std::size_t{2} << 20;

example::OptionTable<Options> make_table() {
  example::OptionTable<Options> table;
  table.number("--layers", &Options::layers, 2U, 1000U)
      .number("--prompt-tokens", &Options::prompt_tokens, 16U, 1'000'000U)
      .number("--output-tokens", &Options::output_tokens, 1U, 1'000'000U)
      .number("--times", &Options::times, 1.0, 100.0)
      .number("--lent-percent", &Options::lent_percent, 1U, 100U)
      .number("--link-mb-per-s", &Options::link_mb_per_s, 0U, 1'000'000U)
      .number("--queries", &Options::queries, 0U, 10'000U)
      .number("--steps", &Options::steps, 1U, 10'000U)
      .number("--rounds", &Options::rounds, 1U, 1000U)
      .number("--at-most", &Options::at_most, 1.0, 100.0)
      .path("--json", &Options::json)
      .flag("--reclaim", &Options::reclaim)
      .flag("--flip-a-byte", &Options::flip)
      .flag("--help", &Options::help)
      .flag("-h", &Options::help);
  example::add_role_options(table, &Options::role);
  return table;
}

void check(const Options& options) {
  const Shape shape = options.shape();
  if (shape.prompt_tokens % kTokensPerBlock != 0) {
    throw Failure("--prompt-tokens " + std::to_string(shape.prompt_tokens) +
                  ": expected whole blocks of " + std::to_string(kTokensPerBlock));
  }
  const std::size_t buffer = (shape.layer_bytes() + kGranule - 1) / kGranule * kGranule;
  if (options.device_bytes() >= LayerBuffers::kCount * buffer) return;
  throw Failure("two layers of " + std::to_string(buffer) + " bytes do not fit a device of " +
                std::to_string(options.device_bytes()) +
                ": give more --layers, more --prompt-tokens, or fewer --times");
}

}  // namespace

std::size_t Options::device_bytes() const {
  const auto bytes = static_cast<std::size_t>(static_cast<double>(shape().kv_bytes()) / times);
  return bytes / kGranule * kGranule;
}

Options parse_options(std::span<const char* const> arguments) {
  Options options = make_table().parse(arguments);
  if (options.role.kind == example::NeighbourRole::Kind::none) check(options);
  return options;
}

std::string_view usage() {
  return R"(usage: long_context [options]

Generates tokens from a context four times as large as the (emulated) GPU's memory. Its keys and
values are in AquaTensors: in memory lent by another process, and beyond that in host memory. They
are streamed layer by layer: the next layer is fetched while one is computed with, and each new
token's block goes back. Every word of every layer is compared in every step. Measured in the same
run: all of it, the kernels alone, the copies alone, and without prefetch.

  --layers N            of the model (32)
  --prompt-tokens N     of context, in whole blocks of 16; 1 KiB a token and layer (8192)
  --output-tokens N     of an answer; then another one to the same prompt begins (64)
  --times X             the context over the device's memory (4)
  --lent-percent N      of the context that the neighbour lends memory for (75)
  --link-mb-per-s N     of the emulated link, to both tiers; 0: as fast as the host copies (2000)
  --queries N           that read each key and value: how much there is to compute (8)
  --steps N             in each measurement (8) …
  --rounds N            … and so many rounds of measurements, after one that is not counted (5)
  --at-most X           fail if all of it takes more than X times the longer of kernels and copies
  --reclaim             then the lender takes all its memory back in mid-generation, and lends again
  --flip-a-byte         damage one stored byte: the run must fail, or its checks are worthless
  --json FILE           write the result
  --coordinator-binary P   the aqua-coordinator program (default: of the same build)
  --help

Takes about twice the context in memory. The exit status is 0 only if no byte was wrong.
)";
}

}  // namespace aqua::long_context
