// SPDX-License-Identifier: Apache-2.0
// A model of a few tensors whose bytes follow from a seed, for tests that compare every one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "aqua/sharing/manifest.hpp"
#include "aqua/sharing/weights_publisher.hpp"

namespace aqua::sharing {

// Two tensors over two slabs, the first across both, and a view of it.
[[nodiscard]] inline Manifest small_model(const std::string& version, std::uint32_t shard = 0,
                                          std::uint32_t shards = 1) {
  constexpr std::uint64_t kSlab = std::uint64_t{2} << 20;
  Manifest manifest{.model = "small", .version = version, .shard = shard, .shards = shards};
  manifest.slabs = {kSlab, kSlab};
  manifest.types = {{.name = "F16", .elements = 1, .bytes = 2}};
  manifest.tensors = {
      {.name = "qkv", .shape = {768, 2048}, .strides = {4096, 2}},
      {.name = "k", .shape = {256, 2048}, .strides = {4096, 2}, .offset = 256 * 4096, .view_of = 0},
      {.name = "norm", .shape = {2048}, .strides = {2}, .offset = 768 * 4096}};
  return manifest;
}

[[nodiscard]] inline std::vector<std::byte> small_bytes(std::uint64_t bytes, std::uint64_t seed,
                                                        std::size_t tensor) {
  std::vector<std::byte> made(bytes);
  std::uint64_t word = seed * 1'000'003 + tensor;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (i % 8 == 0) word = word * 6364136223846793005ULL + 1442695040888963407ULL;
    made[i] = static_cast<std::byte>(word >> (8 * (i % 8)));
  }
  return made;
}

// Writes every tensor that is no view.
[[nodiscard]] inline Result<void> fill(WeightsPublisher& publisher, const Manifest& manifest,
                                       std::uint64_t seed) {
  for (std::size_t i = 0; i < manifest.tensors.size(); ++i) {
    if (manifest.tensors[i].view_of) continue;
    const auto bytes = small_bytes(tensor_bytes(manifest, manifest.tensors[i]), seed, i);
    if (auto written = publisher.write(i, 0, bytes.data(), bytes.size()); !written.ok())
      return written;
  }
  return {};
}

}  // namespace aqua::sharing
