// SPDX-License-Identifier: Apache-2.0
// Another process that lends a slab of this GPU, for the length of this object's life.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>

#include "base/unique_fd.hpp"
#include "device/device.hpp"

namespace aqua::bench {

class LenderProcess {
 public:
  // Starts this very program with --lend and maps its slab here.
  LenderProcess(device::Device& device, std::size_t bytes);
  ~LenderProcess();
  LenderProcess(const LenderProcess&) = delete;
  LenderProcess& operator=(const LenderProcess&) = delete;
  [[nodiscard]] std::byte* slab() const { return range_->base(); }

 private:
  UniqueFd socket_;  // the lender ends when it closes
  pid_t pid_ = 0;
  std::unique_ptr<device::Slab> slab_;
  std::unique_ptr<device::AddressRange> range_;
};

// The lender: its socket is descriptor 3. The program's exit status.
[[nodiscard]] int lend(std::size_t bytes);

}  // namespace aqua::bench
