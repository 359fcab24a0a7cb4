// SPDX-License-Identifier: Apache-2.0
// SharedWeights are the weights of a model as a keeper has them: once in a device's memory, mapped
// to be read by every engine there. Whoever attaches finds tensors by name.
//
//   auto rt = aqua::Runtime::open({});  // the device is $AQUA_DEVICE
//   auto weights = aqua::sharing::SharedWeights::attach(*rt, {.model = "smollm2"});
//   if (!weights.ok()) return fail(weights.error());  // not_found: load them, or publish your own
//   auto q = weights->find("blk.0.attn_q.weight");    // address, type, shape, strides
//
// Nothing is ever read from a disk here, and nothing falls back to it.
//
// Threads: const methods may be called concurrently with each other, other than verify().
// Owns:    addresses and mappings. The memory stays while it is mapped, even if the keeper dies.
//          Must be gone before its runtime, and no work may be in flight on it then.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "aqua/export.h"
#include "aqua/result.hpp"
#include "aqua/sharing/manifest.hpp"
#include "aqua/write_protection.hpp"

namespace aqua {
class Runtime;
}

namespace aqua::sharing {

struct WeightsOptions {
  std::string model{};
  std::string version{};  // empty: the newest that is there with all of its shards
  std::uint32_t shard = 0, shards = 1;
  // The keeper's socket. Empty: $AQUA_KEEPER, else keeper.sock in $XDG_RUNTIME_DIR/aqua or, without
  // that, in /tmp/aqua-UID.
  std::string keeper{};
  // attach() waits so long while another process is publishing this shard on this device, and where
  // this shard is there until the others are, whoever publishes them. Of a shard that nobody has
  // begun to publish it is not_found at once, and when its publisher dies.
  std::chrono::milliseconds patience{0};
};

// A tensor that is mapped. Valid until the weights go; suspended, its address faults.
struct WeightTensor {
  const std::byte* address = nullptr;  // device address of its first byte
  std::uint64_t bytes = 0;             // from the first to behind the last
  const TensorInfo* info = nullptr;
  const ElementType* type = nullptr;
};

class AQUA_API SharedWeights {
 public:
  // Asks the keeper and maps what it has; blocks for both.
  //   unavailable          no keeper listens, or it does not answer
  //   permission_denied    the keeper is another user's
  //   not_found            it has no such model or version, or lacks shards of it: load or publish
  //                        it, and where that is already_exists, attach again with patience
  //   deadline_exceeded    it lacks shards, or is still being published
  //   failed_precondition  it has none on this runtime's device; the message names where
  //   invalid_argument     another number of shards; or the keeper's answer cannot be
  [[nodiscard]] static Result<SharedWeights> attach(Runtime& runtime,
                                                    const WeightsOptions& options);
  // One that was moved from may only be assigned to or destroyed.
  SharedWeights(SharedWeights&&) noexcept;
  SharedWeights& operator=(SharedWeights&&) noexcept;
  ~SharedWeights();  // detaches

  [[nodiscard]] const Manifest& manifest() const noexcept;  // the version among it
  [[nodiscard]] WriteProtection protection() const noexcept;
  [[nodiscard]] std::uint64_t bytes() const noexcept;  // mapped, all slabs
  // not_found: there is no tensor of this name.
  [[nodiscard]] Result<WeightTensor> find(std::string_view name) const;
  // By its number in manifest().tensors; one that is not there throws std::out_of_range.
  [[nodiscard]] WeightTensor tensor(std::size_t number) const;

  // Reads every tensor and compares its digest; blocks for as long as that takes. data_loss names
  // the first that differs.
  [[nodiscard]] Result<void> verify();

  // Unmaps the weights and lets go of them, so that a version which is superseded can end; the
  // addresses stay reserved. The caller has seen all work on them complete. Twice is once; after an
  // error they count as suspended, and calling it again does the rest.
  [[nodiscard]] Result<void> suspend();
  // Maps them at the same addresses again: the version of the options or, without one, the newest
  // by now. Errors: attach()'s, and failed_precondition where that version is laid out in another
  // way (attach anew). Suspended is how it stays after an error.
  [[nodiscard]] Result<void> resume();

 private:
  struct AQUA_LOCAL Parts;
  explicit SharedWeights(std::unique_ptr<Parts> parts) noexcept;
  std::unique_ptr<Parts> parts_;
};

}  // namespace aqua::sharing
