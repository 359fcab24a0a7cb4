// SPDX-License-Identifier: Apache-2.0
// A slab over an anonymous shared file, sealed so that nobody can truncate it under us.
#pragma once

#include <cstddef>
#include <memory>

#include "base/mutex.hpp"
#include "base/unique_fd.hpp"
#include "device/device.hpp"
#include "device/memfd/page_reaper.hpp"

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
                                                            std::size_t bytes, bool touch);
  // invalid_argument unless `fd` is a writable memfd of exactly `bytes`, sealed as ours are.
  [[nodiscard]] static Result<std::unique_ptr<Slab>> import(UniqueFd fd, std::size_t bytes);
  ~MemfdSlab() override;

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  // The owner's capacity; null for an import.
  [[nodiscard]] const Capacity* owner() const noexcept { return capacity_.get(); }
  [[nodiscard]] Result<UniqueFd> duplicate() const;

 private:
  MemfdSlab(UniqueFd fd, std::size_t bytes, std::shared_ptr<Capacity> capacity);

  UniqueFd fd_;
  std::shared_ptr<Capacity> capacity_;
};

}  // namespace aqua::device
