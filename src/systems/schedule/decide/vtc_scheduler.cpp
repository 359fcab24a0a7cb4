// SPDX-License-Identifier: Apache-2.0
#include "systems/schedule/decide/vtc_scheduler.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <queue>
#include <tuple>
#include <utility>

// Invariant: a tenant is in waiting_, under its present counter, exactly while it has somebody
// outside, and in idle_ exactly while it has no requests. A counter changes only in set_counter(),
// which files it again, and where a tenant begins to wait; never of a tenant without requests.
namespace aqua::schedule {

// TenantOrder goes through tenants by counter as if each sequence let in had been charged already,
// because one plan lets several in. It keeps positions as keys, since queues lose their heads
// meanwhile.
class TenantOrder final : public AdmissionOrder {
 public:
  explicit TenantOrder(const VtcScheduler& scheduler) : scheduler_(scheduler) {}

  [[nodiscard]] Slot head() override {
    for (;;) {
      const auto fresh = next_tenant();
      const bool any = fresh != scheduler_.waiting_.end();
      if (!again_.empty() && (!any || again_.top().key < *fresh)) {
        now_ = again_.top();
        first_visit_ = false;
      } else if (any) {
        now_ = {*fresh, 0};
        first_visit_ = true;
      } else {
        return no_slot;
      }
      const auto tenant = scheduler_.tenants_.find(now_.key.second);
      const auto& outside = tenant->second.outside;
      const auto at = outside.upper_bound({now_.passed, no_slot});
      if (at != outside.end()) {
        arrival_ = at->first;
        charge_ = scheduler_.admission_charge(at->second);
        return at->second;
      }
      if (first_visit_) {
        visited_ = now_.key;
      } else {
        again_.pop();
      }
      any_visited_ |= first_visit_;
    }
  }

  void pass(bool let_in) override {
    if (first_visit_) {
      visited_ = now_.key;
      any_visited_ = true;
    } else {
      again_.pop();
    }
    again_.push({{now_.key.first + (let_in ? charge_ : 0), now_.key.second}, arrival_});
  }

 private:
  struct Place {
    std::pair<double, std::uint64_t> key{};
    std::uint64_t passed = 0;  // arrival of the last of its sequences that was passed
    bool operator>(const Place& other) const { return key > other.key; }
  };
  [[nodiscard]] VtcScheduler::ByCounter::const_iterator next_tenant() const {
    return any_visited_ ? scheduler_.waiting_.upper_bound(visited_) : scheduler_.waiting_.begin();
  }

  const VtcScheduler& scheduler_;
  std::priority_queue<Place, std::vector<Place>, std::greater<>> again_;  // tenants met before
  std::pair<double, std::uint64_t> visited_{};
  bool any_visited_ = false;
  Place now_;
  bool first_visit_ = false;
  std::uint64_t arrival_ = 0;
  double charge_ = 0;
};

void VtcScheduler::plan() {
  TenantOrder order(*this);
  plan_queue(order);
  set_repeat(std::min(batch().repeat, iterations_until_overtaken()));
}

// Counts iterations until the first tenant's counter, which its decodes raise, passes the second's:
// then another tenant is first, whose next sequence may fit.
std::uint32_t VtcScheduler::iterations_until_overtaken() const {
  if (waiting_.size() < 2) return UINT32_MAX;
  const auto& [counter, number] = *waiting_.begin();
  double charged = 0;  // in one iteration
  for (const Slot slot : decode_slots()) {
    if (tenant_of(slot) == number) charged += 2.0 / table_.at(slot).weight;
  }
  if (charged <= 0) return UINT32_MAX;
  const double iterations = std::floor((std::next(waiting_.begin())->first - counter) / charged);
  return static_cast<std::uint32_t>(std::clamp(iterations, 1.0, 1e9));
}

double VtcScheduler::service_of(Slot slot) const {
  const auto found = tenants_.find(tenant_of(slot));
  return found == tenants_.end() ? 0 : found->second.counter;
}

double VtcScheduler::lead_of(Slot slot) const {
  return std::max(0.0, service_of(slot) - floor());
}

double VtcScheduler::floor_beside(std::uint64_t number) const {
  for (const auto& [counter, other] : waiting_) {
    if (other != number) return counter;
  }
  return last_left_by_ == number ? left_before_ : last_left_;
}

void VtcScheduler::wait(Slot slot, bool begins) {
  if (shares_.size() <= slot) shares_.resize(slot + std::size_t{1});
  const std::uint64_t number = tenant_of(slot);
  Tenant& tenant = tenants_[number];
  if (!shares_[slot].known) {
    // Who has generated tokens was let in, and charged for its prompt, elsewhere.
    shares_[slot] = {.known = true, .charged = table_.at(slot).generated > 0};
    if (tenant.requests++ == 0) idle_.erase({tenant.counter, number});
    const double lead = table_.at(slot).lead;
    if (lead > 0) set_counter(number, std::max(tenant.counter, floor_beside(number) + lead));
  }
  if (tenant.outside.empty()) {
    if (begins) tenant.counter = std::max(tenant.counter, floor());
    waiting_.emplace(tenant.counter, number);
  }
  tenant.outside.emplace(table_.at(slot).arrival, slot);
  shares_[slot].queued = true;
}

void VtcScheduler::take_out(Slot slot) {
  if (!shares_[slot].queued) return;
  shares_[slot].queued = false;
  const std::uint64_t number = tenant_of(slot);
  Tenant& tenant = tenants_[number];
  tenant.outside.erase({table_.at(slot).arrival, slot});
  if (!tenant.outside.empty()) return;
  waiting_.erase({tenant.counter, number});
  if (std::exchange(last_left_by_, number) != number) left_before_ = last_left_;
  last_left_ = tenant.counter;
}

void VtcScheduler::on_leave(Slot slot) {
  take_out(slot);
}

void VtcScheduler::on_computed(Slot slot, std::uint32_t /*tokens*/, std::uint32_t generated,
                               std::uint32_t /*iterations*/) {
  const Sequence& s = table_.at(slot);
  const double amount = admission_charge(slot) + 2.0 * generated / s.weight;
  shares_[slot].charged = true;
  charge(tenant_of(slot), amount);
  take_out(slot);
}

void VtcScheduler::charge(std::uint64_t number, double amount) {
  set_counter(number, tenants_[number].counter + amount);
}

void VtcScheduler::set_counter(std::uint64_t number, double counter) {
  Tenant& tenant = tenants_[number];
  const bool waits = !tenant.outside.empty();
  if (waits) waiting_.erase({tenant.counter, number});
  tenant.counter = counter;
  if (waits) waiting_.emplace(tenant.counter, number);
}

void VtcScheduler::on_finished(Slot slot) {
  shares_[slot] = {};
  const std::uint64_t number = tenant_of(slot);
  Tenant& tenant = tenants_[number];
  if (--tenant.requests == 0) idle_.emplace(tenant.counter, number);
  forget_idle();
}

// Forgets tenants at or below the floor: they would be lifted to it when they come back anyway. Not
// while somebody is paging in, who is outside again under its old counter if that fails: the floor
// may fall then.
void VtcScheduler::forget_idle() {
  if (table_.count(SequenceState::paging_in) > 0) return;
  while (!idle_.empty() && idle_.begin()->first <= floor()) {
    tenants_.erase(idle_.begin()->second);
    idle_.erase(idle_.begin());
  }
}

}  // namespace aqua::schedule
