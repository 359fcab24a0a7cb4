// SPDX-License-Identifier: Apache-2.0
#include "serve/llama_cpp_engine.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "must.hpp"

namespace aqua::prefill_decode {
namespace {

using example::Failure;

constexpr std::size_t kExtraBytesOfToken = 64;  // position and sequence of a token, and a header

// A state's length stands before it, since it is not to be told from the number of tokens.
using Length = std::uint64_t;

// Copies between bytes and blocks, which hold them one after another; `copy` gets a block's part.
template <typename Copy>
void by_block(const Layout& layout, BlockList blocks, std::size_t bytes, Copy&& copy) {
  const std::size_t room = layout.plane_block_bytes();
  if (bytes > room * blocks.size()) throw Failure("the state does not fit its blocks");
  const LayoutSpec& spec = layout.spec();
  for (std::size_t at = 0; at < bytes; at += room) {
    copy(spec.planes.front() + blocks[at / room] * spec.block_stride, at,
         std::min(room, bytes - at));
  }
}

}  // namespace

LlamaCppEngine::LlamaCppEngine(llama_example::Model model, const Layout& blocks, unsigned sequences,
                               unsigned tokens, unsigned threads)
    : model_(std::move(model)), engine_(model_, sequences, tokens, threads), blocks_(blocks) {
  for (unsigned slot = sequences; slot-- > 0;) free_slots_.push_back(slot);
}

KvPoolShape LlamaCppEngine::state_shape(const LlamaShape& shape, std::uint32_t blocks) {
  const std::size_t token = std::size_t{2} * 2 * shape.layers * shape.kv_width();
  return {.layers = 1,
          .planes_per_layer = 1,
          .plane_block_bytes = (token + kExtraBytesOfToken) * kTokensPerBlock,
          .tokens_per_block = kTokensPerBlock,
          .blocks = blocks,
          .format = "state of llama.cpp"};
}

std::vector<Prediction> LlamaCppEngine::compute(std::span<const Part> parts) {
  std::vector<Prediction> next;
  for (const Part& part : parts) {
    const Prediction last = engine_.decode(slot_of(part.sequence), part.first, part.tokens);
    if (part.wanted) next.push_back(last);
  }
  return next;
}

std::size_t LlamaCppEngine::put(std::uint64_t sequence, BlockList blocks) {
  const unsigned slot = slot_of(sequence);
  const Length length = engine_.state_bytes(slot);
  std::vector<std::byte> bytes(sizeof length + length);
  std::memcpy(bytes.data(), &length, sizeof length);
  engine_.save(slot, std::span(bytes).subspan(sizeof length));
  by_block(blocks_, blocks, bytes.size(), [&](std::byte* block, std::size_t at, std::size_t count) {
    std::memcpy(block, &bytes[at], count);
  });
  return bytes.size();
}

std::size_t LlamaCppEngine::get(std::uint64_t sequence, BlockList blocks, std::uint32_t) {
  Length length = 0;
  std::vector<std::byte> bytes(sizeof length);
  const auto read = [&](const std::byte* block, std::size_t at, std::size_t count) {
    std::memcpy(&bytes[at], block, count);
  };
  by_block(blocks_, blocks, bytes.size(), read);
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > blocks.size() * blocks_.plane_block_bytes()) throw Failure("no state in the blocks");
  bytes.resize(sizeof length + length);
  by_block(blocks_, blocks, bytes.size(), read);
  engine_.restore(slot_of(sequence), std::span(bytes).subspan(sizeof length));
  return bytes.size();
}

void LlamaCppEngine::drop(std::uint64_t sequence) {
  const auto at = slots_.find(sequence);
  if (at == slots_.end()) return;
  engine_.drop(at->second);
  free_slots_.push_back(at->second);
  slots_.erase(at);
}

unsigned LlamaCppEngine::slot_of(std::uint64_t sequence) {
  const auto [at, is_new] = slots_.try_emplace(sequence, 0);
  if (is_new) {
    if (free_slots_.empty()) throw Failure("more sequences at once than llama.cpp was opened for");
    at->second = free_slots_.back();
    free_slots_.pop_back();
  }
  return at->second;
}

}  // namespace aqua::prefill_decode
