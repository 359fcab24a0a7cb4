// SPDX-License-Identifier: Apache-2.0
#include "systems/sharing/act/sealed_text.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <span>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/memory/memfd.hpp"
#include "base/try.hpp"
#include "base/whole_io.hpp"

namespace aqua::sharing {

Result<UniqueFd> seal_text(std::string_view text) {
  UniqueFd fd = create_memfd("aqua-manifest");
  if (!fd.valid()) return errno_error("manifest: memfd_create");
  AQUA_TRY(write_at(fd.get(), 0, std::as_bytes(std::span(text)), "manifest: write"));
  if (::fcntl(fd.get(), F_ADD_SEALS, kSealedForGood) != 0)
    return errno_error("manifest: F_ADD_SEALS");
  return fd;
}

Result<std::string> read_sealed_text(int fd, std::size_t most) {
  struct stat info {};
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & kSealedForGood) != kSealedForGood || ::fstat(fd, &info) != 0) {
    return Error{Code::invalid_argument, "manifest: its descriptor is no memfd that is sealed"};
  }
  const auto bytes = static_cast<std::size_t>(info.st_size);
  if (bytes > most) {
    return Error{Code::invalid_argument, concat("manifest: is longer than ", most, " bytes")};
  }
  std::string text(bytes, '\0');
  // At an offset: the descriptor's own is shared with every other reader's.
  AQUA_ASSIGN(const std::size_t read,
              read_at(fd, 0, std::as_writable_bytes(std::span(text)), "manifest: read"));
  if (read < bytes) return Error{Code::internal, "manifest: has become shorter"};
  return text;
}

}  // namespace aqua::sharing
