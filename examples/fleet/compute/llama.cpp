// SPDX-License-Identifier: Apache-2.0
#include "compute/llama.hpp"

#include <chrono>

#include "aqua/sharing/load_weights.hpp"
#include "compute/draw.hpp"
#include "must.hpp"

namespace aqua::fleet {
namespace {

using example::must;
using prefill_decode::Row;
using prefill_decode::Weights;
using sharing::SharedWeights;

// Another one once the file is written anew.
std::string version_of(const std::filesystem::path& file) {
  return std::to_string(std::filesystem::file_size(file)) + "-" +
         std::to_string(std::filesystem::last_write_time(file).time_since_epoch().count());
}

constexpr std::chrono::seconds kPatience{120};

// The first engine loads them. Of several that begin at once one does, and the others wait for it;
// where it dies meanwhile, another does.
Weights weights_of(Runtime& runtime, const LlamaModel::Options& options, const std::string& name) {
  if (options.keeper.empty()) return Weights(options.file);
  const std::string version = version_of(options.file);
  const auto attach = [&] {
    return SharedWeights::attach(
        runtime,
        {.model = name, .version = version, .keeper = options.keeper, .patience = kPatience});
  };
  for (;;) {
    auto there = attach();
    if (there.ok() || there.error().code != Code::not_found)
      return Weights(must(std::move(there), "weights"));
    const auto loaded =
        sharing::load_weights(runtime, {options.file.string()},
                              {.model = name, .version = version, .keeper = options.keeper});
    if (!loaded.ok() && loaded.error().code != Code::already_exists) must(loaded, "weights");
  }
}

}  // namespace

LlamaModel::LlamaModel(Runtime& runtime, const Options& options)
    : options_(options),
      name_(options.file.stem().string()),
      shape_(prefill_decode::read_llama_shape(options.file)),
      vocabulary_(options.file),
      weights_(weights_of(runtime, options, name_)) {}

KvPoolShape LlamaModel::kv_shape(std::uint32_t blocks) const {
  KvPoolShape shape = prefill_decode::kv_shape(shape_, blocks);
  shape.format += " of " + name_ + " " + version_of(options_.file);
  return shape;
}

void LlamaModel::use(const Layout& cache) {
  llama_.emplace(shape_, weights_, cache, options_.rows, options_.threads);
}

std::vector<Token> LlamaModel::compute(std::span<const Work> work) {
  std::vector<Row> rows;
  for (const Work& one : work) {
    for (std::uint32_t i = 0; i < one.tokens.size(); ++i) {
      rows.push_back({.token = static_cast<std::int32_t>(one.tokens[i]),
                      .position = one.first + i,
                      .blocks = one.blocks,
                      .wanted = one.wanted && i + 1 == one.tokens.size()});
    }
  }
  std::span<const float> logits = llama_->run(rows);
  std::vector<Token> next;
  for (const Work& one : work) {
    if (!one.wanted) continue;
    const auto last = one.first + static_cast<std::uint32_t>(one.tokens.size()) - 1;
    next.push_back(draw(logits.first(llama_->vocabulary()), one.sampler, last,
                        one.may_end ? std::span<const Token>{} : vocabulary_.ends()));
    logits = logits.subspan(llama_->vocabulary());
  }
  return next;
}

Result<std::vector<Token>> LlamaModel::tokens_of(const Text& text) const {
  return vocabulary_.tokens_of(text);
}

std::string LlamaModel::bytes_of(Token token) const {
  return vocabulary_.bytes_of(token);
}

}  // namespace aqua::fleet
