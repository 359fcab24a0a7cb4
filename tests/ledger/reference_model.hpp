// SPDX-License-Identifier: Apache-2.0
// A second, naive opinion on who may be touching a slab: set by a grant, ended only by a
// return, a death or a scrub. It knows no states, times, reclaims or pairs, so it cannot
// share the ledger's mistakes about them.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/concat.hpp"
#include "ledger/ledger.hpp"

namespace aqua::ledger::test {

class ReferenceModel {
 public:
  // Each returns what is wrong, or nothing.
  std::string granted(const ClientId& consumer, const Grant& grant) {
    Physical& slab = slabs_[grant.slab];
    if (slab.toucher) {
      return concat("granted ", to_string(grant.slab), " while ", to_string(*slab.toucher),
                    " touches it");
    }
    if (grant.generation <= slab.last_granted) return "granted an old generation again";
    slab.toucher = consumer;
    slab.last_granted = grant.generation;
    return "";
  }
  std::string returned(const ClientId& consumer, const SlabId& id, Generation generation) {
    Physical& slab = slabs_[id];
    if (slab.toucher != consumer || slab.last_granted != generation) {
      return "accepted a return by somebody who does not hold that generation";
    }
    slab.toucher.reset();
    return "";
  }
  void died(const ClientId& client) {
    for (auto& [id, slab] : slabs_) {
      if (slab.toucher == client) slab.toucher.reset();
    }
  }
  std::string scrubbed(const SlabId& id, Generation done) {
    Physical& slab = slabs_[id];
    if (slab.toucher && slab.last_granted != done) return "accepted a scrub of another generation";
    slab.toucher.reset();
    return "";
  }

  [[nodiscard]] std::optional<ClientId> toucher(const SlabId& id) const {
    const auto found = slabs_.find(id);
    return found == slabs_.end() ? std::nullopt : found->second.toucher;
  }
  [[nodiscard]] Generation last_granted(const SlabId& id) const {
    const auto found = slabs_.find(id);
    return found == slabs_.end() ? 0 : found->second.last_granted;
  }
  // What only the kernel remembers after a coordinator restart: slabs of dead exporters.
  void forget(const ClientId& producer) {
    std::erase_if(slabs_, [&](const auto& slab) { return slab.first.producer == producer; });
  }

  // The ledger's holders are exactly the touchers. `undeclared`: whose slabs it has not been
  // told of since it started.
  template <typename Undeclared>
  [[nodiscard]] std::string compare(const Ledger& ledger, Undeclared&& undeclared) const {
    for (const auto& [id, row] : ledger.slabs()) {
      if (row.holder != toucher(id)) return concat(to_string(id), ": holder is not the toucher");
    }
    for (const auto& [id, slab] : slabs_) {
      if (slab.toucher && !ledger.slabs().contains(id) && !undeclared(id.producer)) {
        return concat(to_string(id), ": touched, and the ledger has no row");
      }
    }
    return "";
  }

 private:
  struct Physical {
    std::optional<ClientId> toucher;
    Generation last_granted = 0;
  };
  std::map<SlabId, Physical> slabs_;
};

}  // namespace aqua::ledger::test
