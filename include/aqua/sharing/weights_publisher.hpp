// SPDX-License-Identifier: Apache-2.0
// WeightsPublisher puts weights into memory that a keeper then has: by a loader, from files, or by
// the first engine, from its own tensors, which are fused and packed as no file has them.
//
//   aqua::sharing::Manifest manifest{.model = "smollm2", .version = "1"};
//   manifest.types = {{.name = "F16", .bytes = 2}};
//   manifest.tensors = {{.name = "qkv", .type = 0, .shape = {3 * 576, 576}}};
//   auto placed = aqua::sharing::lay_out(manifest);           // slabs, offsets, strides
//   auto publisher = aqua::sharing::WeightsPublisher::begin(*rt, manifest);
//   auto written = publisher->write(0, 0, qkv.data(), qkv.size());  // or kernels: address()
//   auto published = publisher->commit();                     // sealed, digested, the keeper's
//   auto weights = aqua::sharing::SharedWeights::attach(*rt, {.model = "smollm2"});
//
// Nobody sees anything of it before commit(). A publisher that goes without, or dies, leaves
// nothing behind, once the children are gone that it has forked.
//
// Threads: one at a time. Must be gone before its runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "aqua/export.h"
#include "aqua/result.hpp"
#include "aqua/sharing/manifest.hpp"

namespace aqua {
class Runtime;
}

namespace aqua::sharing {

class AQUA_API WeightsPublisher {
 public:
  // Takes memory for the manifest's slabs on the runtime's device. Digests in it are not looked at.
  // `keeper`: as WeightsOptions::keeper.
  //   already_exists       this shard of this version is there on this device, or being published
  //   failed_precondition  the version is superseded
  //   invalid_argument     the manifest cannot be; or the version has another number of shards
  //   resource_exhausted   the device has less memory
  //   unavailable, permission_denied   as SharedWeights::attach()
  [[nodiscard]] static Result<WeightsPublisher> begin(Runtime& runtime, const Manifest& manifest,
                                                      const std::string& keeper = {});
  // One that was moved from may only be assigned to or destroyed.
  WeightsPublisher(WeightsPublisher&&) noexcept;
  WeightsPublisher& operator=(WeightsPublisher&&) noexcept;
  ~WeightsPublisher();

  // Device address of the first slab's first byte; the others follow without a gap.
  [[nodiscard]] std::byte* address() const noexcept;
  // Copies to a byte of a tensor of the manifest, from host memory or what this device has mapped;
  // blocks. invalid_argument: beyond the tensor, or no such tensor.
  [[nodiscard]] Result<void> write(std::size_t tensor, std::uint64_t offset, const std::byte* from,
                                   std::uint64_t bytes);
  // Seals the memory, digests each tensor, hands all to the keeper and unmaps it; blocks. The
  // caller has seen all work on it complete. Nothing is left to be called here after it succeeded.
  // A version of several shards shows when the last one is committed.
  //   failed_precondition  a forked child still has it mapped: call it again once that has ended
  //                        (address() faults until then); or the version was superseded meanwhile
  //   unavailable          the keeper went: begin anew
  [[nodiscard]] Result<void> commit();
  // Likewise, of what is to be the same as something that was published: data_loss names the first
  // tensor whose digest is not that of `expected`. Nothing is published then, nor by a later call.
  // invalid_argument: `expected` is laid out in another way than begin()'s manifest.
  [[nodiscard]] Result<void> commit(const Manifest& expected);

 private:
  [[nodiscard]] Result<void> commit(const Manifest* expected);

  struct AQUA_LOCAL Parts;
  explicit WeightsPublisher(std::unique_ptr<Parts> parts) noexcept;
  std::unique_ptr<Parts> parts_;
};

}  // namespace aqua::sharing
