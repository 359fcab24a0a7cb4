// SPDX-License-Identifier: Apache-2.0
#include "runtime/borrow/evacuation.hpp"

#include <algorithm>
#include <vector>

#include "base/concat.hpp"
#include "runtime/second_look.hpp"

namespace aqua::runtime {

void Evacuation::revoke(BorrowedSlab& slab, Clock::time_point deadline) {
  slab.deadline = deadline;
  if (slab.leaving) return;
  slab.leaving = true;
  slab.asked = Clock::now();
  if (auto retired = parts_.space.retire_slab(slab.offset, slab.bytes); !retired.ok()) {
    services_.log(LogLevel::error, retired.error().message);
  }
  parts_.migrator.abandon_promotions();  // evacuations need their window
}

void Evacuation::revoke_all_of(const ClientId& producer, Clock::time_point deadline) {
  for (auto& [key, slab] : slabs_) {
    if (key.producer == producer) revoke(slab, deadline);
  }
}

void Evacuation::step(Clock::time_point now) {
  for (const auto& tensor : parts_.migrator.take_lost()) lose(tensor);
  move_tensors_out();
  return_empty_slabs();
  tell_pin_owners(now);
}

bool Evacuation::pressing(Clock::time_point now) const {
  return std::ranges::any_of(slabs_, [&](const auto& entry) {
    const BorrowedSlab& slab = entry.second;
    return slab.leaving && now >= slab.deadline - (slab.deadline - slab.asked) / 4;
  });
}

// Works on the tightest deadline first, and on one slab after the other, since a slab can be
// returned only when all of it is empty.
void Evacuation::move_tensors_out() {
  std::vector<const BorrowedSlab*> leaving;
  for (const auto& [key, slab] : slabs_) {
    if (slab.leaving) leaving.push_back(&slab);
  }
  std::ranges::stable_sort(leaving, {}, &BorrowedSlab::deadline);
  for (const BorrowedSlab* slab : leaving) move_tensors_out(*slab);
}

void Evacuation::move_tensors_out(const BorrowedSlab& slab) {
  if (!parts_.migrator.has_room()) return;
  for (const auto& tensor : parts_.space.tensors_in(slab.offset, slab.bytes)) {
    if (!parts_.migrator.has_room()) return;
    // Bytes that a release found gone are in nobody's move, and leave here. Of the others only a
    // discardable tensor has no host memory reserved.
    if (tensor->lost() || !parts_.table.ensure_home(*tensor)) {
      lose(tensor);
      continue;
    }
    const auto started = parts_.migrator.start(tensor, nullptr);
    // Moving already, just freed, or draining: the next step looks at it again.
    if (!started.ok() && started.error().code != Code::failed_precondition &&
        started.error().code != Code::not_found) {
      services_.log(LogLevel::error, started.error().message);
    }
  }
}

// The one place where a tensor's bytes are given up. A tensor that is still pinned stays in its
// slab and comes here again in every step; only the first time is its owner told.
void Evacuation::lose(const std::shared_ptr<TensorEntry>& tensor) {
  if (!tensor->lose()) return;
  // To be dropped is what a discardable tensor was made for.
  services_.log(tensor->options().discardable ? LogLevel::warning : LogLevel::error,
                concat("tensor ", tensor->id(), " '", tensor->options().name, "': data_loss"));
  if (const auto& callback = parts_.callbacks.on_data_loss) {
    services_.callbacks.post(
        [callback, tensor] { callback(tensor->id(), tensor->options().name); });
  }
  services_.budget_changed(BudgetReason::lost);
}

// A slab is empty when no tensor is placed in it and every stream's last use of it has been seen
// complete (DeferredFrees); before that it must not be unmapped.
void Evacuation::return_empty_slabs() {
  parts_.table.deferred().collect();  // always, or freed tensors would fill the lent memory
  for (auto it = slabs_.begin(); it != slabs_.end();) {
    const auto& [key, slab] = *it;
    if (!slab.leaving || !parts_.space.slab_empty(slab.offset, slab.bytes)) {
      ++it;
      continue;
    }
    if (auto removed = parts_.space.remove_slab(slab.offset, slab.bytes); !removed.ok()) {
      services_.log(LogLevel::error, removed.error().message);
      ++it;
      continue;
    }
    return_slab(key);
    it = slabs_.erase(it);
    services_.budget_changed(BudgetReason::revoked);
  }
}

// Unmaps, tells the exporter (which may be gone), then the coordinator. In this order: the ledger
// then names the right holders, and rows of a dead exporter end. What cannot be unmapped stays
// held.
void Evacuation::return_slab(const lending::SlabKey& key) {
  services_.unmap_queue.post([this, key] {
    const auto given = parts_.importer.give_back(key);
    if (!given.ok() && given.error().code != Code::unavailable) {
      services_.log(LogLevel::error, given.error().message);
    }
    report_returned(key);
  });
}

void Evacuation::report_returned(const lending::SlabKey& key) {
  if (services_.coordinator == nullptr) return;
  // What is called returned has another tenant soon. Once it is unmapped, return_slab() tells it.
  if (parts_.importer.holds(key)) return;
  if (!returns_.add({{key.producer, key.index}, key.generation})) return;
  services_.coordinator_calls.post([this] {
    // Each by itself may be refused, when the exporter's own report came first. A call that did not
    // arrive is made up for by the next snapshot, which names what is still taken to be held.
    const auto told = services_.coordinator->give_back(returns_.take());
    if (!told.ok()) services_.look_again(Clock::now() + SecondLook::kAfterFailure);
  });
}

// Calls the owners of pins that keep a slab from leaving, once a slab, when all copies are done.
void Evacuation::tell_pin_owners(Clock::time_point now) {
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
    services_.callbacks.post([callback = parts_.callbacks.on_pins_wanted, pinned,
                              deadline = slab.deadline] { callback(pinned, deadline); });
  }
}

}  // namespace aqua::runtime
