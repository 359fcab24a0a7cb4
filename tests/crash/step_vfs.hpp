// SPDX-License-Identifier: Apache-2.0
// A file system for SQLite in which every write is a place to die, and may be refused.
//
// Steps (base/step.hpp), so that a test can kill the process there:
//   write    before bytes are written or a file is cut
//   torn     after the first half of the bytes
//   written  after all of them
//   sync     before fsync
//
// Threads: install() before the first connection; refuse() from any.
#pragma once

namespace aqua::testing {

// Connections opened from now on use it.
void install_step_vfs();

// Every write and fsync from now on fails with this result code of SQLite (SQLITE_FULL,
// SQLITE_IOERR_WRITE, SQLITE_READONLY …); SQLITE_OK: they work again.
void refuse_writes(int code);

}  // namespace aqua::testing
