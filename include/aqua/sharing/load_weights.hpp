// SPDX-License-Identifier: Apache-2.0
// load_weights() reads the weights of a model from its files into a device's memory and publishes
// them there: what a short-lived loader does, so that engines attach and read no file.
//
// Threads: a free function; concurrent calls are fine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "aqua/export.h"
#include "aqua/result.hpp"

namespace aqua {
class Runtime;
}

namespace aqua::sharing {

// Tensors of such names are cut along this axis, 0 being the outermost: shard i of n has the i-th
// of n equal parts.
struct SplitRule {
  std::string pattern{};  // '*' stands for any characters, also none
  std::uint32_t axis = 0;
};

struct LoadOptions {
  std::string model{};
  std::string version{};
  std::uint32_t shard = 0, shards = 1;
  std::uint64_t slab_bytes = std::uint64_t{256} << 20;  // a multiple of 2 MiB; a descriptor each
  std::vector<SplitRule> rules{};  // the first that fits counts; where none does: whole, everywhere
  std::string keeper{};            // as WeightsOptions::keeper
  // Called now and then on the calling thread with the bytes read so far, and those to read.
  std::function<void(std::uint64_t done, std::uint64_t of)> on_progress{};
};

struct LoadedWeights {
  std::string version{};  // that is published now
  std::size_t tensors = 0;
  std::uint64_t bytes = 0;       // of the tensors
  std::uint64_t slab_bytes = 0;  // of the memory that they lie in
};

// Reads GGUF or safetensors, told apart by their first bytes; a model may be in several files, each
// tensor in one. Blocks until the keeper has it.
//   not_found, permission_denied   a file
//   invalid_argument    a file that is neither, or contradicts itself; a tensor in two files; one
//                       that its rule cannot cut into equal parts; an option that cannot be
//   unimplemented       a version, a byte order or an element type that is not known here
//   resource_exhausted  the device has less memory
//   aborted             a file was written while it was read: load it again
// and the errors of WeightsPublisher::begin() and commit().
[[nodiscard]] AQUA_API Result<LoadedWeights> load_weights(Runtime& runtime,
                                                          const std::vector<std::string>& files,
                                                          const LoadOptions& options);

}  // namespace aqua::sharing
