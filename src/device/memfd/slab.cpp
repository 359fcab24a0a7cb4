// SPDX-License-Identifier: Apache-2.0
#include "device/memfd/slab.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::device {
namespace {

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U  // Linux 6.3
#endif
#ifndef F_SEAL_EXEC
#define F_SEAL_EXEC 0x0020
#endif

// SEAL too: nobody adds a write seal later.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// Never executable where the kernel knows how to promise that: one with vm.memfd_noexec=2 creates
// no other memfd.
UniqueFd create_memfd() {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  UniqueFd fd(::memfd_create("aqua-slab", kFlags | MFD_NOEXEC_SEAL));
  if (!fd.valid() && errno == EINVAL) fd.reset(::memfd_create("aqua-slab", kFlags));
  return fd;
}

Error os_error(const char* what, std::size_t bytes, int error) {
  if (error == EMFILE || error == ENFILE) {
    return Error{Code::resource_exhausted,
                 concat(what, ": no file descriptor left for a slab of ", bytes,
                        " bytes; raise RLIMIT_NOFILE or lend fewer, larger slabs (",
                        std::generic_category().message(error), ")")};
  }
  const bool full = error == ENOMEM || error == ENOSPC || error == EFBIG;
  return Error{full ? Code::resource_exhausted : Code::internal,
               concat(what, ": ", bytes, " bytes: ", std::generic_category().message(error))};
}

Result<UniqueFd> create_file(std::size_t bytes, bool touch) {
  UniqueFd fd = create_memfd();
  if (!fd.valid()) return os_error("create_slab", bytes, errno);
  const auto length = static_cast<off_t>(bytes);
  if (::ftruncate(fd.get(), length) != 0) return os_error("create_slab", bytes, errno);
  while (touch && ::fallocate(fd.get(), 0, 0, length) != 0) {
    if (errno != EINTR) return os_error("create_slab", bytes, errno);
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return os_error("create_slab", bytes, errno);
  return fd;
}

Result<void> check_import(int fd, std::size_t bytes) {
  const auto refuse = [](const auto&... why) {
    return Error{Code::invalid_argument, concat("import_slab: ", why...)};
  };
  struct stat file {};
  struct statfs system {};
  if (::fstat(fd, &file) != 0 || ::fstatfs(fd, &system) != 0) {
    return refuse("bad descriptor ", fd, ": ", std::generic_category().message(errno));
  }
  // Pages of a hugetlbfs file can run out, and then a load faults.
  if (!S_ISREG(file.st_mode) || system.f_type != TMPFS_MAGIC) return refuse("not a memfd");
  if (file.st_size < 0 || static_cast<std::size_t>(file.st_size) != bytes) {
    return refuse("expected ", bytes, " bytes, the file has ", file.st_size);
  }
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0) return refuse("not a memfd: ", std::generic_category().message(errno));
  // The exporter's kernel may have added the seal against execution, which takes nothing from us.
  if ((seals & ~F_SEAL_EXEC) != kSeals) return refuse("seals ", seals, ", expected ", kSeals);
  if ((::fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR) return refuse("not opened read-write");
  return {};
}

}  // namespace

bool Capacity::take(std::size_t bytes) {
  reaper_.catch_up();  // or two slabs could hold pages where one is accounted for
  const MutexLock lock(mu_);
  if (bytes > free_) return false;
  free_ -= bytes;
  return true;
}

void Capacity::give(std::size_t bytes, UniqueFd file) {
  reaper_.close_later(std::move(file));
  const MutexLock lock(mu_);
  free_ += bytes;
}

std::size_t Capacity::free_bytes() const {
  const MutexLock lock(mu_);
  return free_;
}

Result<std::unique_ptr<Slab>> MemfdSlab::create(std::shared_ptr<Capacity> capacity,
                                                std::size_t bytes, bool touch) {
  if (!capacity->take(bytes)) {
    return Error{Code::resource_exhausted, concat("create_slab: ", bytes, " bytes wanted, ",
                                                  capacity->free_bytes(), " free")};
  }
  auto fd = create_file(bytes, touch);
  if (!fd.ok()) {
    capacity->give(bytes, {});
    return std::move(fd).error();
  }
  return std::unique_ptr<Slab>(new MemfdSlab(std::move(fd).value(), bytes, std::move(capacity)));
}

Result<std::unique_ptr<Slab>> MemfdSlab::import(UniqueFd fd, std::size_t bytes) {
  AQUA_TRY(check_import(fd.get(), bytes));
  if (::fcntl(fd.get(), F_SETFD, FD_CLOEXEC) != 0) return os_error("import_slab", bytes, errno);
  return std::unique_ptr<Slab>(new MemfdSlab(std::move(fd), bytes, nullptr));
}

MemfdSlab::MemfdSlab(UniqueFd fd, std::size_t bytes, std::shared_ptr<Capacity> capacity)
    : Slab(bytes), fd_(std::move(fd)), capacity_(std::move(capacity)) {}

MemfdSlab::~MemfdSlab() {
  if (capacity_) capacity_->give(bytes(), std::move(fd_));
}

Result<UniqueFd> MemfdSlab::duplicate() const {
  UniqueFd copy(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) return os_error("export_slab", bytes(), errno);
  return copy;
}

}  // namespace aqua::device
