// SPDX-License-Identifier: Apache-2.0
#include "tools/keeper/kept_slab.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/concat.hpp"
#include "base/memory/memfd.hpp"
#include "base/try.hpp"

namespace aqua::keeper {
namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

template <typename... What>
Error bad(const What&... what) {
  return Error{Code::invalid_argument, concat("keeper: ", what...)};
}

Result<void> check_seals(int fd, int wanted) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0)
    return bad("a descriptor is not a memfd: ", std::generic_category().message(errno));
  if ((seals & wanted) != wanted) return bad("a memfd has seals ", seals, ", not all of ", wanted);
  return {};
}

// Whether it is a file, so that the kernel keeps what its seals say.
Result<bool> check_slab(int fd, std::uint64_t bytes, SlabWriters writers) {
  if (bytes == 0) return bad("a slab of no bytes");
  struct stat info {};
  if (::fstat(fd, &info) != 0) return bad("a descriptor of no memory");
  // A socket could be a client's own connection, whose end nobody would hear of any more.
  const mode_t mode = info.st_mode;
  if (S_ISDIR(mode) || S_ISSOCK(mode) || S_ISFIFO(mode) || S_ISBLK(mode) || S_ISLNK(mode)) {
    return bad("a descriptor of no memory");
  }
  if (!S_ISREG(mode)) return false;
  AQUA_TRY(check_seals(fd, writers == SlabWriters::nobody ? kSealedForGood : kSizeSeals));
  if (static_cast<std::uint64_t>(info.st_size) == bytes) return true;
  return bad("a slab of ", bytes, " bytes has ", info.st_size);
}

}  // namespace

Result<void> check_sealed(int fd) {
  return check_seals(fd, kSealedForGood);
}

Result<TakenSlabs> take_slabs(std::span<const std::uint64_t> bytes, std::vector<UniqueFd> fds,
                              SlabWriters writers) {
  if (bytes.empty() || bytes.size() != fds.size()) {
    return bad(bytes.size(), " sizes with ", fds.size(), " descriptors");
  }
  TakenSlabs taken;
  for (std::size_t i = 0; i < fds.size(); ++i) {
    AQUA_ASSIGN(const bool sealed, check_slab(fds[i].get(), bytes[i], writers));
    taken.enforced = taken.enforced && sealed;
    taken.slabs.push_back({std::move(fds[i]), bytes[i]});
  }
  return taken;
}

}  // namespace aqua::keeper
