// SPDX-License-Identifier: Apache-2.0
// A store that lives as long as its memory: for embedding, for tests, and for --store memory.
//
// Threads: as Store says; Memory may be shared by stores that follow each other.
#pragma once

#include <map>
#include <memory>

#include "base/mutex.hpp"
#include "coordinator/store/store.hpp"

namespace aqua::coordinator {

class MemoryStore final : public Store {
 public:
  // What lasts when a MemoryStore goes: the "disk".
  struct Memory {
    Mutex mu;
    Revision revision AQUA_GUARDED_BY(mu) = 0;
    Host host AQUA_GUARDED_BY(mu);
    std::map<ClientId, ledger::ClientRow> clients AQUA_GUARDED_BY(mu);
    std::map<ledger::SlabId, ledger::Slab> slabs AQUA_GUARDED_BY(mu);
    std::map<std::uint64_t, ledger::Reclaim> reclaims AQUA_GUARDED_BY(mu);
    std::map<ClientId, ledger::Pair> pairs AQUA_GUARDED_BY(mu);
    std::map<groups::GroupId, groups::GroupRow> groups AQUA_GUARDED_BY(mu);
  };

  explicit MemoryStore(Host host, std::shared_ptr<Memory> memory = std::make_shared<Memory>())
      : host_(std::move(host)), memory_(std::move(memory)) {}

  [[nodiscard]] Result<Stored> load() override;
  [[nodiscard]] Result<Revision> commit(const WriteSet& rows) override;
  [[nodiscard]] Result<void> sync(Revision revision) override;

 private:
  const Host host_;
  const std::shared_ptr<Memory> memory_;
  Revision last_ = 0;
};

}  // namespace aqua::coordinator
