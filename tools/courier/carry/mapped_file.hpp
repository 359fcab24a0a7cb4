// SPDX-License-Identifier: Apache-2.0
// MappedFile is memory that the keeper has, as this process has it mapped.
//
// Threads: one at a time.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "aqua/result.hpp"
#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/memory/memfd.hpp"

namespace aqua::courier {

class MappedFile {
 public:
  // To be written it is taken whole. invalid_argument: it can be made smaller, which would end
  // whoever reads it. resource_exhausted: the server has no memory for it.
  [[nodiscard]] static Result<MappedFile> map(int fd, std::uint64_t bytes, bool writable) {
    const int seals = ::fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
      return Error{Code::invalid_argument, "courier: memory of the keeper's that can be cut off"};
    }
    if (writable && !take_pages(fd, bytes))
      return errno_error(concat("courier: ", bytes, " bytes of memory"));
    void* const address =
        ::mmap(nullptr, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
    if (address == MAP_FAILED) return errno_error("courier: mmap");
    return MappedFile(static_cast<std::byte*>(address), bytes);
  }
  ~MappedFile() {
    if (address_ != nullptr) ::munmap(address_, bytes_);
  }
  MappedFile(MappedFile&& other) noexcept
      : address_(std::exchange(other.address_, nullptr)), bytes_(other.bytes_) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return {address_, bytes_}; }

 private:
  MappedFile(std::byte* address, std::size_t bytes) : address_(address), bytes_(bytes) {}

  std::byte* address_;
  std::size_t bytes_;
};

}  // namespace aqua::courier
