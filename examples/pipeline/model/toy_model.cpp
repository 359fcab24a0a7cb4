// SPDX-License-Identifier: Apache-2.0
#include "model/toy_model.hpp"

#include <cstring>

namespace aqua::pipeline {
namespace {

constexpr std::uint32_t kVocabulary = 50'000;
constexpr Word kGolden = 0x9e3779b97f4a7c15;

enum class Purpose : std::uint8_t { embed, key, value, query, output, feed, sample, prompt };

// SplitMix64's finaliser: a bijection in which each bit of the input moves half of the output's.
Word mix(Word x) {
  x += kGolden;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// The model's weights.
Word weight(Purpose purpose, unsigned layer, unsigned head, unsigned place) {
  return mix(Word{static_cast<std::uint8_t>(purpose)} << 56 ^ Word{layer} << 40 ^ Word{head} << 20 ^
             place);
}

Word digest(const Hidden& in) {
  Word sum = 0;
  for (const Word word : in) sum = mix(sum ^ word);
  return sum;
}

void write_head(std::byte* to, unsigned bytes, Purpose purpose, unsigned layer, unsigned head,
                Word in) {
  for (unsigned i = 0; i < bytes; i += sizeof(Word)) {
    const Word word = mix(in ^ weight(purpose, layer, head, i));
    std::memcpy(to + i, &word, sizeof(word));
  }
}

// `row` depends on query and position; the factors of a row are different odd numbers.
Word weighted(Word row, const std::byte* bytes, unsigned first, unsigned count) {
  Word sum = 0;
  for (unsigned i = 0; i < count; ++i) {
    const Word factor = row * (2 * Word{first + i} + 1) | 1;
    sum += factor * std::to_integer<Word>(bytes[i]);
  }
  return sum;
}

}  // namespace

Hidden embed(std::uint32_t token) {
  Hidden hidden{};
  for (unsigned i = 0; i < hidden.size(); ++i)
    hidden[i] = mix(weight(Purpose::embed, 0, 0, i) ^ token);
  return hidden;
}

void write_kv(const ModelShape& model, const Part& part, unsigned layer, const KvPlanes& kv,
              std::uint32_t position, const Hidden& in) {
  const Word token = digest(in);
  for (unsigned local = 0; local < part.kv_heads.count; ++local) {
    const unsigned head = part.kv_heads.first + local;
    const std::size_t at = kv.offset(position, local);
    write_head(kv.keys + at, model.head_bytes, Purpose::key, layer, head, token);
    write_head(kv.values + at, model.head_bytes, Purpose::value, layer, head, token);
  }
}

Hidden attend(const ModelShape& model, const Part& part, unsigned layer, const KvPlanes& kv,
              std::uint32_t position, const Hidden& in) {
  const Word token = digest(in);
  const unsigned shared = model.query_heads / model.kv_heads, bytes = model.head_bytes;
  Hidden sum{};
  for (unsigned i = 0; i < part.query_heads.count; ++i) {
    const unsigned head = part.query_heads.first + i;
    const unsigned local = head / shared - part.kv_heads.first;
    const Word query = mix(token ^ weight(Purpose::query, layer, head, 0));
    Word seen = 0;
    for (std::uint32_t t = 0; t <= position; ++t) {
      const Word row = mix(query ^ t * kGolden);
      const std::size_t at = kv.offset(t, local);
      seen += weighted(row, kv.keys + at, 0, bytes) + weighted(row, kv.values + at, bytes, bytes);
    }
    for (unsigned k = 0; k < sum.size(); ++k)
      sum[k] += seen * (weight(Purpose::output, layer, head, k) | 1);
  }
  return sum;
}

void add(Hidden& sum, const Hidden& more) {
  for (unsigned i = 0; i < sum.size(); ++i) sum[i] += more[i];
}

Hidden finish_layer(unsigned layer, const Hidden& in, const Hidden& sum) {
  Hidden out = in;
  for (unsigned i = 0; i < out.size(); ++i)
    out[i] += mix(sum[i] ^ weight(Purpose::feed, layer, 0, i));
  return out;
}

std::uint32_t sample(const Hidden& last, Word seed, std::uint32_t position) {
  const Word drawn = mix(seed ^ weight(Purpose::sample, 0, 0, position));
  return static_cast<std::uint32_t>(mix(digest(last) ^ drawn) % kVocabulary);
}

std::uint32_t prompt_token(Word seed, std::uint32_t position) {
  return static_cast<std::uint32_t>(mix(seed ^ weight(Purpose::prompt, 0, 0, position)) %
                                    kVocabulary);
}

}  // namespace aqua::pipeline
