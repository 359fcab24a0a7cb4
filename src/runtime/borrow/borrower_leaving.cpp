// SPDX-License-Identifier: Apache-2.0
// Borrower: how a slab leaves: evacuated, unmapped, given back.
#include <algorithm>
#include <array>

#include "base/concat.hpp"
#include "runtime/borrow/borrower.hpp"

namespace aqua::runtime {

bool Borrower::any_leaving() const {
  return std::any_of(slabs_.begin(), slabs_.end(),
                     [](const auto& slab) { return slab.second.leaving; });
}

// Writers may be made to wait once three quarters of the time are gone.
bool Borrower::pressing(Clock::time_point now) const {
  return std::any_of(slabs_.begin(), slabs_.end(), [&](const auto& entry) {
    const Leased& slab = entry.second;
    return slab.leaving && now >= slab.deadline - (slab.deadline - slab.asked) / 4;
  });
}

void Borrower::start_evacuations(Clock::time_point) {
  // The tightest deadline first, and one slab after the other: each that is done can go.
  std::vector<const Leased*> leaving;
  for (const auto& [key, slab] : slabs_) {
    if (slab.leaving) leaving.push_back(&slab);
  }
  std::stable_sort(leaving.begin(), leaving.end(),
                   [](const Leased* a, const Leased* b) { return a->deadline < b->deadline; });
  for (const Leased* slab : leaving) evacuate(*slab);
}

void Borrower::evacuate(const Leased& slab) {
  if (!parts_.migrator.has_room()) return;
  for (const auto& tensor : parts_.space.tensors_in(slab.offset, slab.bytes)) {
    if (!parts_.migrator.has_room()) return;
    if (!parts_.table.ensure_home(*tensor)) {
      (void)tensor->lose();  // discardable, and no room: its owner is told
      if (const auto& callback = parts_.callbacks.on_data_loss) {
        office_.callbacks.post(
            [callback, tensor] { callback(tensor->id(), tensor->options().name); });
      }
      continue;
    }
    const auto started = parts_.migrator.start(tensor, nullptr);
    // Moving already, just freed, or draining: it is looked at again in the next step.
    if (!started.ok() && started.error().code != Code::failed_precondition &&
        started.error().code != Code::not_found) {
      office_.log(LogLevel::error, started.error().message);
    }
  }
}

void Borrower::finish_leaving() {
  parts_.table.deferred().collect();  // always, or freed tensors would fill the lent memory
  if (!any_leaving()) return;
  for (auto it = slabs_.begin(); it != slabs_.end();) {
    const auto& [key, slab] = *it;
    if (!slab.leaving || !parts_.space.slab_empty(slab.offset, slab.bytes)) {
      ++it;
      continue;
    }
    if (auto removed = parts_.space.remove_slab(slab.offset, slab.bytes); !removed.ok()) {
      office_.log(LogLevel::error, removed.error().message);
      ++it;
      continue;
    }
    hand_back(key);
    it = slabs_.erase(it);
    tell_budget(BudgetReason::revoked);
  }
}

// Unmaps, tells the exporter (which may be gone), then the coordinator.
void Borrower::hand_back(const lending::SlabKey& key) {
  office_.returns.post([this, key] {
    const auto given = parts_.importer.give_back(key);
    if (!given.ok() && given.error().code != Code::unavailable) {
      office_.log(LogLevel::error, given.error().message);
    }
    tell_returned(key);
  });
}

// The exporter has been told already; the ledger then names the right holders, and rows of
// a dead exporter end. Its refusal is no news: the exporter's own report may come first.
void Borrower::tell_returned(const lending::SlabKey& key) {
  if (office_.coordinator == nullptr) return;
  office_.errands.post([this, key] {
    const std::array<wire::Return, 1> one{wire::Return{{key.producer, key.index}, key.generation}};
    (void)office_.coordinator->give_back(one);  // unavailable: the next snapshot settles it
  });
}

void Borrower::tell_pin_owners(Clock::time_point now) {
  if (!parts_.callbacks.on_pins_wanted) return;
  for (auto& [key, slab] : slabs_) {
    if (!slab.leaving || slab.told || parts_.migrator.copying()) continue;
    std::vector<PinnedTensor> pinned;
    for (const auto& tensor : parts_.space.tensors_in(slab.offset, slab.bytes)) {
      const auto pins = tensor->pins();
      if (pins.readers + pins.writers == 0) continue;
      pinned.push_back({tensor->id(), tensor->options().name, pins.readers, pins.writers,
                        std::chrono::duration_cast<std::chrono::milliseconds>(now - pins.since)});
    }
    if (pinned.empty()) continue;
    slab.told = true;
    office_.callbacks.post([callback = parts_.callbacks.on_pins_wanted, pinned,
                            deadline = slab.deadline] { callback(pinned, deadline); });
  }
}

}  // namespace aqua::runtime
