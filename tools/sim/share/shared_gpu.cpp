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
  bool in_prefill = false;
  bool has_all = false;  // of the multiprocessors, until then
  Busy busy{};

 private:
  SharedGpu& gpu_;
};

SharingProfile measured_on_h100() {
  SharingProfile profile;
  profile.prefill.beside_the_other = sharing::SpeedCurve{
      .points = {
          {0.545, 0.177}, {0.606, 0.215}, {0.727, 0.336}, {0.848, 0.505}, {0.909, 0.664}, {1, 1}}};
  profile.decode.speed = {.points = {{0.121, 0.696}, {0.242, 0.967}, {0.303, 0.996}, {1, 1}}};
  profile.decode.beside_the_other = sharing::SpeedCurve{
      .points = {
          {0.091, 0.529}, {0.152, 0.716}, {0.273, 0.907}, {0.697, 0.942}, {0.879, 0.978}, {1, 1}}};
  return profile;
}

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
  part.in_prefill = prefills;
  bool beside_the_other = false;
  double wanted_by_others = 0;
  for (const auto& other : parts_) {
    if (other.get() == &part || other->until <= start) continue;
    if (phase.beside_the_other && other->in_prefill != prefills) {
      beside_the_other = true;
    } else {
      wanted_by_others += other->bandwidth;
    }
  }
  const sharing::SpeedCurve& curve = beside_the_other ? *phase.beside_the_other : phase.speed;
  const double speed = part.has_all ? 1 : sharing::speed_at(curve, part.share);
  part.bandwidth = phase.bandwidth * speed;
  const double wanted = part.bandwidth + wanted_by_others;
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
