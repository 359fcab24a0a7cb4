// SPDX-License-Identifier: Apache-2.0
#include "tools/keeper/copies.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/concat.hpp"
#include "base/memfd.hpp"
#include "base/try.hpp"

namespace aqua::keeper {
namespace {

template <typename... What>
Error bad(const What&... what) {
  return Error{Code::invalid_argument, concat("keeper: ", what...)};
}

Result<void> check_sealed(int fd) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0)
    return bad("a descriptor is not a memfd: ", std::generic_category().message(errno));
  if ((seals & kSealedForGood) != kSealedForGood)
    return bad("a memfd has seals ", seals, ", not all of ", kSealedForGood);
  return {};
}

// Whether the kernel keeps it from being written.
Result<bool> check_slab(int fd, std::uint64_t bytes) {
  if (bytes == 0) return bad("a slab of no bytes");
  struct stat info {};
  if (::fstat(fd, &info) != 0) return bad("a descriptor of no memory");
  // A socket could be a client's own connection, whose end nobody would hear of any more.
  const mode_t mode = info.st_mode;
  if (S_ISDIR(mode) || S_ISSOCK(mode) || S_ISFIFO(mode) || S_ISBLK(mode) || S_ISLNK(mode)) {
    return bad("a descriptor of no memory");
  }
  if (!S_ISREG(mode)) return false;
  AQUA_TRY(check_sealed(fd));
  if (static_cast<std::uint64_t>(info.st_size) == bytes) return true;
  return bad("a slab of ", bytes, " bytes has ", info.st_size);
}

}  // namespace

std::uint64_t KeptCopy::bytes() const {
  std::uint64_t sum = 0;
  for (const KeptSlab& slab : slabs) sum += slab.bytes;
  return sum;
}

Result<void> Copies::begin(sharing::CopyId id) {
  if (copies_.size() >= most_slabs_) {
    return Error{Code::resource_exhausted,
                 concat("keeper: ", copies_.size(), " copies: retire models first")};
  }
  copies_[id] = {};
  return {};
}

Result<void> Copies::add(sharing::CopyId id, std::span<const std::uint64_t> bytes,
                         std::vector<UniqueFd> fds) {
  KeptCopy& copy = copies_.at(id);
  if (bytes.empty() || bytes.size() != fds.size()) {
    return bad(bytes.size(), " sizes with ", fds.size(), " descriptors");
  }
  bool enforced = copy.enforced;
  for (std::size_t i = 0; i < fds.size(); ++i) {
    AQUA_ASSIGN(const bool sealed, check_slab(fds[i].get(), bytes[i]));
    enforced = enforced && sealed;
  }
  if (fds.size() > most_slabs_ - slabs_) {
    return Error{Code::resource_exhausted,
                 concat("keeper: ", slabs_, " slabs of at most ", most_slabs_,
                        ": retire models, publish larger slabs, or raise RLIMIT_NOFILE")};
  }
  for (std::size_t i = 0; i < fds.size(); ++i) copy.slabs.push_back({std::move(fds[i]), bytes[i]});
  slabs_ += fds.size();
  copy.enforced = enforced;
  return {};
}

Result<void> Copies::set_manifest(sharing::CopyId id, std::vector<UniqueFd> fds) {
  if (fds.size() != 1) return bad("a manifest of ", fds.size(), " descriptors");
  if (copies_.at(id).slabs.empty()) return bad("a copy without slabs");
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
