// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/step_vfs.hpp"

#include <sqlite3.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "base/step.hpp"

namespace aqua::testing {
namespace {

std::atomic<int> refusal{SQLITE_OK};

// SQLite allocates szOsFile bytes: ours, and behind it the real file's.
struct File {
  sqlite3_file base;
  [[nodiscard]] sqlite3_file* real() {
    return reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(this) + sizeof(File));
  }
};

File& ours(sqlite3_file* file) {
  return *reinterpret_cast<File*>(file);
}
sqlite3_file* real(sqlite3_file* file) {
  return ours(file).real();
}
const sqlite3_io_methods& methods(sqlite3_file* file) {
  return *real(file)->pMethods;
}

int write_file(sqlite3_file* file, const void* bytes, int count, sqlite3_int64 at) {
  if (const int code = refusal.load(); code != SQLITE_OK) return code;
  step("write");
  const int half = count / 2;
  int done = methods(file).xWrite(real(file), bytes, half, at);
  if (done != SQLITE_OK) return done;
  step("torn");
  done = methods(file).xWrite(real(file), static_cast<const char*>(bytes) + half, count - half,
                              at + half);
  step("written");
  return done;
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  if (const int code = refusal.load(); code != SQLITE_OK) return code;
  step("write");
  const int done = methods(file).xTruncate(real(file), size);
  step("written");
  return done;
}

int sync_file(sqlite3_file* file, int flags) {
  if (refusal.load() != SQLITE_OK) return SQLITE_IOERR_FSYNC;
  step("sync");
  return methods(file).xSync(real(file), flags);
}

// What SQLite asks of a file, passed on as it is.
sqlite3_io_methods passing_on() {
  sqlite3_io_methods all{};
  all.iVersion = 3;
  all.xClose = [](sqlite3_file* f) { return methods(f).xClose(real(f)); };
  all.xRead = [](sqlite3_file* f, void* to, int n, sqlite3_int64 at) {
    return methods(f).xRead(real(f), to, n, at);
  };
  all.xWrite = write_file;
  all.xTruncate = truncate_file;
  all.xSync = sync_file;
  all.xFileSize = [](sqlite3_file* f, sqlite3_int64* n) {
    return methods(f).xFileSize(real(f), n);
  };
  all.xLock = [](sqlite3_file* f, int level) { return methods(f).xLock(real(f), level); };
  all.xUnlock = [](sqlite3_file* f, int level) { return methods(f).xUnlock(real(f), level); };
  all.xCheckReservedLock = [](sqlite3_file* f, int* out) {
    return methods(f).xCheckReservedLock(real(f), out);
  };
  all.xFileControl = [](sqlite3_file* f, int op, void* arg) {
    return methods(f).xFileControl(real(f), op, arg);
  };
  all.xSectorSize = [](sqlite3_file* f) { return methods(f).xSectorSize(real(f)); };
  all.xDeviceCharacteristics = [](sqlite3_file* f) {
    return methods(f).xDeviceCharacteristics(real(f));
  };
  all.xShmMap = [](sqlite3_file* f, int page, int size, int extend, void volatile** out) {
    return methods(f).xShmMap(real(f), page, size, extend, out);
  };
  all.xShmLock = [](sqlite3_file* f, int from, int n, int flags) {
    return methods(f).xShmLock(real(f), from, n, flags);
  };
  all.xShmBarrier = [](sqlite3_file* f) { methods(f).xShmBarrier(real(f)); };
  all.xShmUnmap = [](sqlite3_file* f, int drop) { return methods(f).xShmUnmap(real(f), drop); };
  all.xFetch = [](sqlite3_file* f, sqlite3_int64 at, int n, void** out) {
    return methods(f).xFetch(real(f), at, n, out);
  };
  all.xUnfetch = [](sqlite3_file* f, sqlite3_int64 at, void* page) {
    return methods(f).xUnfetch(real(f), at, page);
  };
  return all;
}

int open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  static const sqlite3_io_methods kMethods = passing_on();
  auto* const below = static_cast<sqlite3_vfs*>(vfs->pAppData);
  file->pMethods = nullptr;
  const int code = below->xOpen(below, name, real(file), flags, out_flags);
  if (real(file)->pMethods != nullptr) file->pMethods = &kMethods;
  return code;
}

}  // namespace

void install_step_vfs() {
  static sqlite3_vfs vfs;
  sqlite3_vfs* const below = sqlite3_vfs_find("unix-excl");
  // In front of it under the same name, which is the one that the store asks for; its other methods
  // do not look at the object they are called on.
  vfs = *below;
  vfs.szOsFile = static_cast<int>(sizeof(File)) + below->szOsFile;
  vfs.pAppData = below;
  vfs.xOpen = open_file;
  if (sqlite3_vfs_register(&vfs, 1) != SQLITE_OK) std::abort();
}

void refuse_writes(int code) {
  refusal.store(code);
}

}  // namespace aqua::testing
