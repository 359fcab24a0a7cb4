// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/share/shared_gpu.hpp"

#include <algorithm>
#include <utility>

namespace aqua::sim {

class SharedGpu::Part final : public GpuShare {
 public:
  Part(SharedGpu& gpu, double given) : share(given), gpu_(gpu) {}
  [[nodiscard]] Picos begin(Picos now, Picos alone, bool prefills) override {
    (prefills ? busy.prefill : busy.decode) += seconds(alone);
    return gpu_.begin(*this, now, alone, prefills);
  }

  double share;
  Picos until = 0;       // of its iteration
  double bandwidth = 0;  // that this one uses
  bool has_all = false;  // of the multiprocessors, until then
  Busy busy{};

 private:
  SharedGpu& gpu_;
};

SharedGpu::SharedGpu(GpuSharing how, const std::vector<double>& shares,
                     const SharingProfile& profile)
    : how_(how), profile_(profile), in_turn_(how != GpuSharing::fixed) {
  for (const double share : shares) parts_.push_back(std::make_unique<Part>(*this, share));
}

SharedGpu::~SharedGpu() = default;

GpuShare& SharedGpu::of(std::size_t engine) {
  return *parts_[engine];
}

Picos SharedGpu::begin(Part& part, Picos now, Picos alone, bool prefills) {
  if (in_turn_) {
    free_at_ = std::max({now, free_at_, not_before_}) + alone;
    part.until = free_at_;
    return free_at_;
  }
  Picos start = std::max(now, not_before_);
  bool others_idle = true;
  for (const auto& other : parts_) {
    if (other.get() == &part || other->until <= start) continue;
    others_idle = false;
    if (other->has_all) start = other->until;
  }
  const PhaseProfile& phase = prefills ? profile_.prefill : profile_.decode;
  part.has_all = how_ == GpuSharing::by_load && others_idle;
  const double speed = part.has_all ? 1 : sharing::speed_at(phase.speed, part.share);
  part.bandwidth = phase.bandwidth * speed;
  double wanted = part.bandwidth;
  for (const auto& other : parts_) {
    if (other.get() != &part && other->until > start) wanted += other->bandwidth;
  }
  part.until = start + picos(seconds(alone) / speed * std::max(1.0, wanted));
  return part.until;
}

void SharedGpu::set_shares(const sharing::SmShares& shares) {
  in_turn_ = shares.take_turns();
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    parts_[i]->share = shares.shares()[i].share;
    not_before_ = std::max(not_before_, parts_[i]->until);
  }
}

SharedGpu::Busy SharedGpu::take_busy(std::size_t engine) {
  return std::exchange(parts_[engine]->busy, {});
}

}  // namespace aqua::sim
