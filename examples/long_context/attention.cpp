// SPDX-License-Identifier: Apache-2.0
#include "attention.hpp"

#include <array>

#include "must.hpp"
#include "shape.hpp"

namespace aqua::long_context {
namespace {

using example::CacheGeometry;
using example::SequenceView;
using Vector = std::array<std::int16_t, kPlaneWidth>;

// Small enough that a score fits 32 bits, with any key.
Vector make_query(unsigned number, std::uint32_t tokens) {
  Vector query;
  std::uint32_t state = tokens * 2'654'435'761U + number;
  for (std::int16_t& element : query) {
    state = state * 1'664'525U + 1'013'904'223U;
    element = static_cast<std::int16_t>(static_cast<int>(state >> 28) - 8);
  }
  return query;
}

std::int32_t dot(const std::int16_t* key, const Vector& query) {
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < query.size(); ++i) sum += std::int32_t{key[i]} * query[i];
  return sum;
}

// The sum wraps around; its weights are scores cut to 15 bits.
void add_weighted(std::array<std::uint32_t, kPlaneWidth>& out, const std::int16_t* value,
                  std::int32_t weight) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] += static_cast<std::uint32_t>(weight * std::int32_t{value[i]});
  }
}

std::uint64_t attend(const std::byte* layer, std::uint32_t tokens, unsigned queries) {
  std::vector<Vector> query;
  for (unsigned i = 0; i < queries; ++i) query.push_back(make_query(i, tokens));
  std::vector<std::array<std::uint32_t, kPlaneWidth>> out(queries);
  for (std::uint32_t token = 0; token < tokens; ++token) {
    const auto* key = reinterpret_cast<const std::int16_t*>(layer + token * kSlotBytes);
    const std::int16_t* value = key + kPlaneWidth;
    for (unsigned i = 0; i < queries; ++i) add_weighted(out[i], value, dot(key, query[i]) >> 12);
  }
  std::uint64_t digest = 0;
  for (const auto& vector : out) {
    for (const std::uint32_t element : vector) digest = digest * 31 + element;
  }
  return digest;
}

}  // namespace

void launch_attention(Runtime& runtime, Stream stream, const CacheGeometry& cache,
                      std::span<const std::uint32_t> blocks, const LayerWork& work,
                      Findings& findings) {
  auto kernel = [&cache, blocks, work, &findings] {
    SequenceView layer{.sequence = work.layer,
                       .tokens = work.tokens,
                       .blocks = blocks.first(blocks_for(work.tokens))};
    findings.mismatched_bytes += count_mismatches(cache, layer);
    findings.verified_bytes += layer.blocks.size() * kBlockBytes;
    findings.digest ^=
        attend(emulated::kernel_view(cache.planes.front()), work.tokens, work.queries);
    // A block's first token brings the stamps of its empty slots with it.
    const bool opens = work.tokens % kTokensPerBlock == 0;
    layer.blocks = blocks;
    ++layer.tokens;
    write_stamps(cache, layer, work.tokens, work.tokens + (opens ? kTokensPerBlock : 1));
  };
  example::must(emulated::launch(runtime, stream, std::move(kernel)), "launch");
}

void launch_prefill(Runtime& runtime, Stream stream, const CacheGeometry& cache,
                    std::span<const std::uint32_t> blocks, unsigned layer, std::uint32_t tokens) {
  auto kernel = [&cache, blocks, layer, tokens] {
    write_stamps(cache, {.sequence = layer, .tokens = tokens, .blocks = blocks}, 0, tokens);
  };
  example::must(emulated::launch(runtime, stream, std::move(kernel)), "launch");
}

}  // namespace aqua::long_context
