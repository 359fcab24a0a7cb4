// SPDX-License-Identifier: Apache-2.0
// LoadPlan says where the tensors of one shard lie in its slabs, and which bytes of which files go
// there.
//
// The tensors lie as lay_out() places them, in the order in which they are given. A tensor that is
// cut along an axis has in shard i of n the i-th of n equal parts of it, without gaps.
//
// Pure: no I/O. Units: bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "aqua/result.hpp"
#include "aqua/sharing/load_weights.hpp"
#include "aqua/sharing/manifest.hpp"
#include "systems/sharing/decide/model_file.hpp"

namespace aqua::sharing {

// The most runs of one plan. Each is a read of its own, so that a plan with more would be slow to
// follow.
inline constexpr std::uint64_t kMostRuns = std::uint64_t{1} << 24;

// Bytes of a file that lie in the slabs one after another as well.
struct Run {
  std::uint32_t tensor = 0;  // in Manifest::tensors
  std::uint32_t file = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t offset = 0;  // in the slabs one after another
  std::uint64_t bytes = 0;
  friend bool operator==(const Run&, const Run&) = default;
};

struct LoadPlan {
  Manifest manifest{};  // has been checked; without digests, since no byte has been read
  // All bytes of all tensors, tensor by tensor, each from its beginning to its end. A tensor's
  // neighbouring bytes are in one run.
  std::vector<Run> runs{};
};

// The tensors may be of several files.
//   invalid_argument     names the tensor: its name is in two files, it does not have the bytes of
//                        its shape, or cannot be cut as the rule wants, into equal parts of whole
//                        blocks. Or the manifest would not pass check().
//   resource_exhausted   the cuts are so fine that there are more than kMostRuns
[[nodiscard]] Result<LoadPlan> make_load_plan(const std::vector<FileTensor>& tensors,
                                              const LoadOptions& options);

}  // namespace aqua::sharing
