// SPDX-License-Identifier: Apache-2.0
#include "tools/keeper/copies.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::keeper {
namespace {

constexpr int kSealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;

template <typename... What>
Error bad(const What&... what) {
  return Error{Code::invalid_argument, concat("keeper: ", what...)};
}

// A memfd, or a file of a memory file system, that nobody can write, resize or unseal any more.
Result<void> check_sealed(int fd) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0)
    return bad("a descriptor is not a memfd: ", std::generic_category().message(errno));
  if ((seals & kSealed) != kSealed)
    return bad("a memfd has seals ", seals, ", not all of ", kSealed);
  return {};
}

// What the driver of a device gives has neither size nor seals.
Result<void> check_device_memory(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) {
    return bad("a descriptor is a file, but not said to be a sealed memfd");
  }
  return {};
}

Result<void> check_slab(int fd, std::uint64_t bytes, bool enforced) {
  if (bytes == 0) return bad("a slab of no bytes");
  if (!enforced) return check_device_memory(fd);
  AQUA_TRY(check_sealed(fd));
  struct stat info {};
  if (::fstat(fd, &info) != 0 || static_cast<std::uint64_t>(info.st_size) != bytes) {
    return bad("a slab of ", bytes, " bytes has ", info.st_size);
  }
  return {};
}

}  // namespace

std::uint64_t KeptCopy::bytes() const {
  std::uint64_t sum = 0;
  for (const KeptSlab& slab : slabs) sum += slab.bytes;
  return sum;
}

Result<void> Copies::add(sharing::CopyId id, std::span<const std::uint64_t> bytes,
                         std::vector<UniqueFd> fds) {
  KeptCopy& copy = copies_.at(id);
  if (bytes.empty() || bytes.size() != fds.size()) {
    return bad(bytes.size(), " sizes with ", fds.size(), " descriptors");
  }
  for (std::size_t i = 0; i < fds.size(); ++i) {
    AQUA_TRY(check_slab(fds[i].get(), bytes[i], copy.enforced));
  }
  if (fds.size() > most_slabs_ - slabs_) {
    return Error{Code::resource_exhausted,
                 concat("keeper: ", slabs_, " slabs of at most ", most_slabs_,
                        ": retire models, publish larger slabs, or raise RLIMIT_NOFILE")};
  }
  for (std::size_t i = 0; i < fds.size(); ++i) copy.slabs.push_back({std::move(fds[i]), bytes[i]});
  slabs_ += fds.size();
  return {};
}

Result<void> Copies::set_manifest(sharing::CopyId id, std::vector<UniqueFd> fds) {
  if (fds.size() != 1) return bad("a manifest of ", fds.size(), " descriptors");
  AQUA_TRY(check_sealed(fds.front().get()));
  copies_.at(id).manifest = std::move(fds.front());
  return {};
}

void Copies::forget(sharing::CopyId id) {
  const auto found = copies_.find(id);
  if (found == copies_.end()) return;
  slabs_ -= found->second.slabs.size();
  copies_.erase(found);
}

}  // namespace aqua::keeper
