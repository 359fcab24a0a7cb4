// SPDX-License-Identifier: Apache-2.0
#include "tools/profiler/load/verdict.hpp"

#include <algorithm>

#include "tools/sim/report/metrics.hpp"

namespace aqua::profiler {
namespace {

constexpr std::size_t kReserved = std::size_t{1} << 20;  // times; more grow as they come

}  // namespace

Verdict::Verdict(const Sla& sla, std::size_t requests, std::size_t gaps, bool whole)
    : sla_(sla), requests_(requests), gaps_(gaps), whole_(whole) {
  ttft_.reserve(requests);
  tbt_.reserve(std::min(gaps, kReserved));
}

void Verdict::first_token(double ttft_s) {
  ttft_.push_back(ttft_s);
  if (ttft_s >= sla_.ttft_s) ++late_;
  if (ttft_s >= sla_.ttft_s / 2) ++half_late_;
}

void Verdict::gap(double seconds) {
  tbt_.push_back(seconds);
  if (seconds >= sla_.tbt_s) ++slow_;
  if (seconds >= sla_.tbt_s / 2) ++half_slow_;
}

void Verdict::failed(std::optional<double> ttft_s) {
  ++failures_;
  broken_ += ttft_s ? 1U : 0U;
  late_ += ttft_s && *ttft_s >= sla_.ttft_s ? 0U : 1U;
  half_late_ += ttft_s && *ttft_s >= sla_.ttft_s / 2 ? 0U : 1U;
}

Standing Verdict::standing(const Waiting& waiting) const {
  if (late_ + waiting.overdue > allowed_over(requests_, sla_.quantile)) return Standing::missed;
  if (slow_ > allowed_over(std::max(gaps_, tbt_.size()), sla_.quantile)) return Standing::missed;
  if (known() == requests_ && tbt_.size() >= gaps_) return final();
  return !whole_ && waiting.overdue == 0 && easily(waiting) ? Standing::met : Standing::open;
}

bool Verdict::easily(const Waiting& waiting) const {
  return 2 * known() >= requests_ && 2 * tbt_.size() >= gaps_ &&
         half_late_ + waiting.half <= allowed_over(known() + waiting.half, sla_.quantile) &&
         half_slow_ <= allowed_over(tbt_.size(), sla_.quantile);
}

Standing Verdict::final() const {
  const bool met = !ttft_.empty() && late_ <= allowed_over(known(), sla_.quantile) &&
                   slow_ <= allowed_over(tbt_.size(), sla_.quantile);
  return met ? Standing::met : Standing::missed;
}

Quantiles Verdict::quantiles() {
  return {.ttft_p50_s = sim::quantile(ttft_, 0.5),
          .ttft_s = sim::quantile(ttft_, sla_.quantile),
          .tbt_p50_s = sim::quantile(tbt_, 0.5),
          .tbt_s = sim::quantile(tbt_, sla_.quantile)};
}

}  // namespace aqua::profiler
