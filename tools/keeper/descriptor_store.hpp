// SPDX-License-Identifier: Apache-2.0
// DescriptorStore keeps the keeper's descriptors where its death does not reach them: with systemd,
// which passes them to the next keeper (FileDescriptorStoreMax= in its unit). Without systemd it
// does nothing.
//
// A copy is stored under a name, "c" and its number, which is higher the later its publishing
// began: each slab as NAME-0, NAME-1, …, its manifest as NAME-manifest, and last NAME-record, which
// says what they are. What has no record was being stored, or removed, when its keeper died.
//
// Threads: the keeper's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "base/ids.hpp"
#include "base/unique_fd.hpp"
#include "systems/sharing/decide/keeper_wire.hpp"
#include "systems/sharing/decide/model_book.hpp"
#include "tools/daemon/notify.hpp"
#include "tools/keeper/copies.hpp"

namespace aqua::keeper {

// What an earlier keeper stored of one copy. Nothing of it has been checked.
struct StoredCopy {
  std::string name;
  UniqueFd record, manifest;
  std::vector<UniqueFd> slabs{};  // by number; one that is missing is not valid
};
// What the record says.
struct StoredRecord {
  sharing::wire::Publish publish;
  std::vector<std::uint64_t> bytes{};  // of each slab
};

// Those that were passed to this process, the oldest first. What no keeper stored is closed.
[[nodiscard]] std::vector<StoredCopy> sort_out(std::vector<daemon::NamedDescriptor> passed);
// invalid_argument: there is none, it cannot be, or slabs are missing.
[[nodiscard]] Result<StoredRecord> read_record(const StoredCopy& copy);

class DescriptorStore {
 public:
  // Numbers from now on come after that of this name.
  void skip(std::string_view name);
  [[nodiscard]] std::uint64_t next_number() { return ++last_; }
  // Sets `copy.stored`. What cannot be stored is told on stderr, and is served all the same.
  void keep(KeptCopy& copy, const sharing::wire::Publish& what);
  // Clears `copy.stored`. Does nothing for a copy that is not stored.
  void forget(KeptCopy& copy);
  // Removes what there is under this name.
  void remove(const std::string& name, std::size_t slabs);

 private:
  std::uint64_t last_ = 0;
};

}  // namespace aqua::keeper
