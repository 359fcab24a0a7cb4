// SPDX-License-Identifier: Apache-2.0
// Store is where the rows of the ledger and of the groups outlive the daemon. One contract, two
// stores: memory (tests, embedding), SQLite; docs/internals/store.md says why it is so.
//
// A store has one writer. Every commit names the revision that it builds on, in silence: the
// store remembers the last one it loaded or committed, and refuses to go on (aborted) when
// somebody else has loaded since.
//
// Threads: load() before all else; commit() and sync() from any, concurrently. Commits are made one
//          after another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aqua/result.hpp"
#include "coordinator/store/write_set.hpp"
#include "ledger/image.hpp"

namespace aqua::coordinator {

using Revision = std::uint64_t;  // grows by one with each commit of one that has loaded

// What the rows are true for. Rows of another boot are of clients that no longer exist.
struct Host {
  std::string boot;        // boot id
  std::string namespaces;  // in which pids and start times mean what they say
};

struct Stored {
  ledger::Image image;                     // of this boot
  std::vector<groups::GroupRow> groups{};  // likewise
  Revision revision = 0;
  std::string namespaces;         // of whoever committed last; "" when not known
  std::uint64_t former_rows = 0;  // of other boots, deleted by this load
};

class Store {
 public:
  virtual ~Store() = default;

  // Once, before the first commit. data_loss when what is there cannot be read, or
  // contradicts itself; failed_precondition when a later version of the program wrote it.
  [[nodiscard]] virtual Result<Stored> load() = 0;

  // All of it, or nothing. When this returns it survives the death of this process, but not
  // yet of the machine. An empty set is written too: it shows whether there is a way to write.
  // resource_exhausted: no space; unavailable: cannot write now. Both may be tried again.
  // data_loss: the file is damaged. aborted: somebody else writes here; end this process.
  [[nodiscard]] virtual Result<Revision> commit(const WriteSet& rows) = 0;

  // Returns when everything up to `revision`, a commit's, survives the machine too. Callers
  // that come while one is written share the next write (group commit). An error is final:
  // what the disk holds is not known any more; end this process.
  [[nodiscard]] virtual Result<void> sync(Revision revision) = 0;
};

}  // namespace aqua::coordinator
