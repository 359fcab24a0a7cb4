// SPDX-License-Identifier: Apache-2.0
// trim_weights() makes room on a device: published weights that nobody reads go to host memory,
// and come back by copy_weights() from there, without a file being read. A version that is in host
// memory alone goes as soon as a newer version of its model is published, or copied to another
// device.
//
// Threads: a free function; concurrent calls are fine.
#pragma once

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

struct TrimOptions {
  std::uint64_t bytes = 0;  // of the device's memory that are to be given back
  std::string keeper{};     // as WeightsOptions::keeper
  // Called on the calling thread for each version before it moves.
  std::function<void(const std::string& model, const std::string& version)> on_move{};
};

struct TrimmedVersion {
  std::string model{};
  std::string version{};
  std::uint64_t bytes = 0;  // of the device's memory that it had
  friend bool operator==(const TrimmedVersion&, const TrimmedVersion&) = default;
};

// Moves versions that nobody reads from the device of the first runtime to that of the second,
// which is "host": those that were used longest ago first, until so many bytes are given back or
// nothing that may go is left. What is in host memory already is not copied again; what somebody
// begins to read meanwhile stays, and leaves no new copy in host memory. Versions stay that lack
// shards, those of a model of which the device has two, and those of an earlier keeper, whose
// readers nobody knows (ModelCopy::readers_unknown).
// Engines that have suspended their weights read nothing: resume() is failed_precondition until the
// weights are brought back. Blocks, also until the kernel has freed what was given back, for 10 s
// at most. Answers what it moved, in that order: less than `bytes` together where nothing else may
// go.
//   invalid_argument     no bytes; or the second runtime's device is another one
//   resource_exhausted   host memory is full; what was moved until then stays moved
// and the errors of list_copies() and copy_weights().
[[nodiscard]] AQUA_API Result<std::vector<TrimmedVersion>> trim_weights(Runtime& device,
                                                                        Runtime& host,
                                                                        const TrimOptions& options);

}  // namespace aqua::sharing
