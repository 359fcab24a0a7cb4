// SPDX-License-Identifier: Apache-2.0
// A slab over an anonymous shared file, sealed so that nobody can truncate it under us. One to
// publish is also sealed against writing, once it is filled: the kernel then refuses each write and
// each writable mapping, in every process and for good.
#pragma once

#include <cstddef>
#include <memory>

#include "base/memory/page_reaper.hpp"
#include "base/mutex.hpp"
#include "base/unique_fd.hpp"
#include "device/device.hpp"
#include "device/seal_state.hpp"

namespace aqua::device {

// How many bytes a device has left for slabs of its own. Safe from any thread.
class Capacity {
 public:
  explicit Capacity(std::size_t bytes) : free_(bytes) {}
  // False, and nothing taken, when fewer are free. Waits for the pages that give() is freeing.
  [[nodiscard]] bool take(std::size_t bytes);
  void give(std::size_t bytes, UniqueFd file);
  [[nodiscard]] std::size_t free_bytes() const;

 private:
  mutable Mutex mu_;
  std::size_t free_ AQUA_GUARDED_BY(mu_);
  PageReaper reaper_;
};

class MemfdSlab final : public Slab {
 public:
  // Takes `bytes` from `capacity` until the handle is destroyed. With `touch` the kernel
  // commits every page now.
  [[nodiscard]] static Result<std::unique_ptr<Slab>> create(std::shared_ptr<Capacity> capacity,
                                                            std::size_t bytes, bool touch,
                                                            SlabUse use);
  // invalid_argument unless `fd` is a memfd of exactly `bytes`, sealed as ours for this use are,
  // and writable if it is lent.
  [[nodiscard]] static Result<std::unique_ptr<Slab>> import(UniqueFd fd, std::size_t bytes,
                                                            SlabUse use);
  ~MemfdSlab() override;

  // See Device.
  [[nodiscard]] Result<void> seal();
  [[nodiscard]] const SealState& state() const noexcept { return state_; }

  // To be mapped so. A mapping that is only read keeps no slab from being sealed unless it was made
  // by a descriptor that can write.
  [[nodiscard]] int fd(MapAccess access) const noexcept {
    return access == MapAccess::read_only && reading_.valid() ? reading_.get() : fd_.get();
  }
  // The owner's capacity; null for an import.
  [[nodiscard]] const Capacity* owner() const noexcept { return capacity_.get(); }
  [[nodiscard]] Result<UniqueFd> duplicate() const;

 private:
  MemfdSlab(UniqueFd fd, UniqueFd reading, std::size_t bytes, std::shared_ptr<Capacity> capacity,
            SealState state);

  UniqueFd fd_;
  UniqueFd reading_;  // the same, and cannot write: of one to publish that is not sealed yet
  std::shared_ptr<Capacity> capacity_;
  SealState state_;
};

}  // namespace aqua::device
