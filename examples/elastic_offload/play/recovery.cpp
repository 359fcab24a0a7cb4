// SPDX-License-Identifier: Apache-2.0
#include "play/recovery.hpp"

namespace aqua::example {

void Recovery::note(const ConsumerStats& stats) {
  now_ = stats;
  if (again_) return;
  if (began_ && stats.leased_bytes < then_.leased_bytes) gave_back_ = true;
  again_ = gave_back_ && stats.leased_bytes > then_.leased_bytes;
  if (!again_) then_ = stats;
  began_ = true;
}

}  // namespace aqua::example
