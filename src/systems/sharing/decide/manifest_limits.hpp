// SPDX-License-Identifier: Apache-2.0
// What a manifest may have at most: far beyond any model's, and what keeps a hostile one small. And
// where the tensors begin that lay_out() places.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/keeper/limits.hpp"

namespace aqua::sharing {

inline constexpr std::size_t kLongestModel =
    keeper_wire::kLongestName;  // bytes of a model's name, and of a version's
inline constexpr std::size_t kLongestType = 32;
inline constexpr std::size_t kLongestTensor = 512;
inline constexpr std::uint32_t kMostShards = 4096;
inline constexpr std::size_t kMostTypes = 256;
inline constexpr std::uint32_t kMostBlockBytes = 1 << 20;
inline constexpr std::size_t kMostAxes = 8;
inline constexpr std::size_t kMostTensors = 1 << 20;
inline constexpr std::size_t kMostManifestSlabs = keeper_wire::kMostSlabs;
inline constexpr std::uint64_t kMostManifestBytes = keeper_wire::kMostBytes;  // of all slabs
inline constexpr std::size_t kMostManifestText = std::size_t{256} << 20;      // of its JSON

inline constexpr std::uint64_t kTensorAlignment = 256;  // bytes

}  // namespace aqua::sharing
