// SPDX-License-Identifier: Apache-2.0
// A file of weights whose bytes follow from a seed, as those of the small model do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/base/temp_dir.hpp"
#include "tests/systems/sharing/model_bytes.hpp"
#include "tests/systems/sharing/small_model.hpp"

namespace aqua::sharing {

// One tensor, which "check SEED" (peer.cpp) finds whole. A file that is there stays: somebody may
// be reading it.
inline std::string small_file(const aqua::testing::TempDir& directory, std::uint64_t seed) {
  std::string path = directory / ("weights-" + std::to_string(seed));
  if (std::filesystem::exists(path)) return path;
  constexpr std::uint64_t kBytes = 128 << 10;
  const auto bytes = small_bytes(kBytes, seed, 0);
  std::ofstream file(path, std::ios::binary);
  file << safetensors_bytes(
      R"({"w": {"dtype": "F16", "shape": [64, 1024], "data_offsets": [0, 131072]}})", 0);
  file.write(reinterpret_cast<const char*>(bytes.data()), kBytes);
  return path;
}

}  // namespace aqua::sharing
