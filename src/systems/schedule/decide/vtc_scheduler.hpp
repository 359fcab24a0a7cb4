// SPDX-License-Identifier: Apache-2.0
// VtcScheduler is fair in tokens between tenants, by virtual token counters (Sheng et al., Fairness
// in Serving Large Language Models, OSDI 2024, algorithm 2). A counter grows with what its tenant
// is served, prompts at 1 a token when they are let in, answers at 2 a token, divided by the
// tenant's weight. The tenant with the least counter is let in next, its own requests by arrival. A
// tenant that comes back after a pause is lifted to the least counter of those that wait, so that
// idling earns no credit; one whose request comes from another engine, to as much above it as it
// was there, so that moving earns none. No resident is preempted for fairness: as in the paper, and
// as Aqua's paper says of it.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "systems/schedule/decide/queue_scheduler.hpp"

namespace aqua::schedule {

class VtcScheduler final : public QueueScheduler {
 public:
  using QueueScheduler::QueueScheduler;
  [[nodiscard]] std::string_view name() const noexcept override { return "vtc"; }

 protected:
  void plan() override;
  [[nodiscard]] double service_of(Slot slot) const override;
  [[nodiscard]] double lead_of(Slot slot) const override;
  void on_outside(Slot slot) override { wait(slot, true); }
  void on_outside_again(Slot slot) override { wait(slot, false); }
  void on_leave(Slot slot) override;
  void on_computed(Slot slot, std::uint32_t tokens, std::uint32_t generated,
                   std::uint32_t iterations) override;
  void on_finished(Slot slot) override;

 private:
  friend class TenantOrder;
  struct Tenant {
    double counter = 0;
    SequenceTable::ByArrival outside{};
    std::size_t requests = 0;  // alive, outside or in
  };
  struct Share {  // of a sequence, by slot
    bool known = false;
    bool queued = false;   // it is in its tenant's `outside`
    bool charged = false;  // its prompt is paid for
  };
  using ByCounter = std::set<std::pair<double, std::uint64_t>>;

  [[nodiscard]] std::uint64_t tenant_of(Slot slot) const {
    return static_cast<std::uint64_t>(table_.at(slot).tenant);
  }
  // What letting a sequence in costs its tenant.
  [[nodiscard]] double admission_charge(Slot slot) const {
    return shares_[slot].charged ? 0 : table_.at(slot).prompt / table_.at(slot).weight;
  }
  // The least counter of the tenants that wait, or of the last one that did. Falls only where
  // somebody is outside again because its page-in failed.
  [[nodiscard]] double floor() const {
    return waiting_.empty() ? last_left_ : waiting_.begin()->first;
  }
  // The floor as it were without this tenant.
  [[nodiscard]] double floor_beside(std::uint64_t number) const;
  // How often the same batch can be committed before another tenant is first.
  [[nodiscard]] std::uint32_t iterations_until_overtaken() const;
  void charge(std::uint64_t number, double amount);
  void set_counter(std::uint64_t number, double counter);
  // Queues it; `begins`: a tenant that has nobody else outside begins to wait, and is lifted.
  void wait(Slot slot, bool begins);
  void take_out(Slot slot);
  void forget_idle();

  std::unordered_map<std::uint64_t, Tenant> tenants_;
  ByCounter waiting_;               // tenants with somebody outside
  ByCounter idle_;                  // tenants without requests
  std::vector<Share> shares_;       // by slot
  double last_left_ = 0;            // counter of the last tenant to have nobody outside …
  std::uint64_t last_left_by_ = 0;  // … which tenant that is …
  double left_before_ = 0;          // … and that of the last before it which is another
};

}  // namespace aqua::schedule
