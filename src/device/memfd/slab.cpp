// SPDX-License-Identifier: Apache-2.0
#include "device/memfd/slab.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/concat.hpp"
#include "base/memory/memfd.hpp"
#include "base/try.hpp"

namespace aqua::device {
namespace {

#ifndef F_SEAL_EXEC
#define F_SEAL_EXEC 0x0020
#endif

// What is lent can never be sealed against writing; what is published is sealed for good, once
// filled.
constexpr int kSize = F_SEAL_SHRINK | F_SEAL_GROW;
constexpr int kLent = kSize | F_SEAL_SEAL;

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

Result<UniqueFd> create_file(std::size_t bytes, bool touch, int seals) {
  UniqueFd fd = create_memfd("aqua-slab");
  if (!fd.valid()) return os_error("create_slab", bytes, errno);
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0)
    return os_error("create_slab", bytes, errno);
  if (touch && !take_pages(fd.get(), bytes)) return os_error("create_slab", bytes, errno);
  if (::fcntl(fd.get(), F_ADD_SEALS, seals) != 0) return os_error("create_slab", bytes, errno);
  return fd;
}

Result<void> check_import(int fd, std::size_t bytes, SlabUse use) {
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
  const int expected = use == SlabUse::lend ? kLent : kSealedForGood;
  if ((seals & ~F_SEAL_EXEC) != expected) return refuse("seals ", seals, ", expected ", expected);
  const int access = ::fcntl(fd, F_GETFL) & O_ACCMODE;
  if (use == SlabUse::lend && access != O_RDWR) return refuse("not opened read-write");
  if (access == O_WRONLY) return refuse("not opened for reading");
  return {};
}

// For two rules of the kernel. A file that is mapped through a descriptor that can write counts as
// written, even if it is mapped to be read, and is not sealed. And before 6.7 a sealed file is
// mapped through a descriptor that cannot write only.
Result<UniqueFd> read_only_descriptor(int fd, std::size_t bytes) {
  UniqueFd opened(::open(concat("/proc/self/fd/", fd).c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened.valid()) return os_error("create_slab: /proc/self/fd", bytes, errno);
  return opened;
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
                                                std::size_t bytes, bool touch, SlabUse use) {
  if (!capacity->take(bytes)) {
    return Error{Code::resource_exhausted, concat("create_slab: ", bytes, " bytes wanted, ",
                                                  capacity->free_bytes(), " free")};
  }
  auto fd = create_file(bytes, touch, use == SlabUse::lend ? kLent : kSize);
  auto reading = fd.ok() && use == SlabUse::publish ? read_only_descriptor(fd->get(), bytes)
                                                    : Result<UniqueFd>(UniqueFd());
  if (!fd.ok() || !reading.ok()) {
    capacity->give(bytes, {});
    return std::move(fd.ok() ? reading : fd).error();
  }
  return std::unique_ptr<Slab>(new MemfdSlab(std::move(fd).value(), std::move(reading).value(),
                                             bytes, std::move(capacity), SealState::made_to(use)));
}

Result<std::unique_ptr<Slab>> MemfdSlab::import(UniqueFd fd, std::size_t bytes, SlabUse use) {
  AQUA_TRY(check_import(fd.get(), bytes, use));
  if (::fcntl(fd.get(), F_SETFD, FD_CLOEXEC) != 0) return os_error("import_slab", bytes, errno);
  return std::unique_ptr<Slab>(
      new MemfdSlab(std::move(fd), {}, bytes, nullptr, SealState::imported(use)));
}

MemfdSlab::MemfdSlab(UniqueFd fd, UniqueFd reading, std::size_t bytes,
                     std::shared_ptr<Capacity> capacity, SealState state)
    : Slab(bytes),
      fd_(std::move(fd)),
      reading_(std::move(reading)),
      capacity_(std::move(capacity)),
      state_(state) {}

MemfdSlab::~MemfdSlab() {
  if (capacity_) capacity_->give(bytes(), std::move(fd_));
}

Result<void> MemfdSlab::seal() {
  AQUA_TRY(state_.check_seal());
  if (state_.sealed()) return {};
  if (::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL) != 0) {
    return errno == EBUSY ? SealState::still_written() : os_error("seal", bytes(), errno);
  }
  fd_ = std::move(reading_);
  state_.seal();
  return {};
}

Result<UniqueFd> MemfdSlab::duplicate() const {
  AQUA_TRY(state_.check_export());
  UniqueFd copy(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) return os_error("export_slab", bytes(), errno);
  return copy;
}

}  // namespace aqua::device
