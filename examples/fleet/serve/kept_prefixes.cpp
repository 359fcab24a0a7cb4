// SPDX-License-Identifier: Apache-2.0
#include "serve/kept_prefixes.hpp"

#include <algorithm>
#include <utility>

namespace aqua::fleet {

void KeptPrefixes::keep(Prefix prefix) {
  while (!kept_.empty() && blocks_ + prefix.blocks.size() > most_) drop_oldest();
  blocks_ += static_cast<std::uint32_t>(prefix.blocks.size());
  kept_.push_back(std::move(prefix));
}

std::optional<KeptPrefixes::Prefix> KeptPrefixes::take(std::span<const Token> prompt) {
  auto best = kept_.end();
  for (auto at = kept_.begin(); at != kept_.end(); ++at) {
    const bool begins = at->tokens.size() <= prompt.size() &&
                        std::equal(at->tokens.begin(), at->tokens.end(), prompt.begin());
    if (begins && (best == kept_.end() || best->tokens.size() < at->tokens.size())) best = at;
  }
  if (best == kept_.end()) return {};
  Prefix taken = std::move(*best);
  kept_.erase(best);
  blocks_ -= static_cast<std::uint32_t>(taken.blocks.size());
  return taken;
}

void KeptPrefixes::drop_oldest() {
  blocks_ -= static_cast<std::uint32_t>(kept_.front().blocks.size());
  cache_.release(kept_.front().blocks);
  kept_.pop_front();
}

void KeptPrefixes::drop_all() {
  while (!kept_.empty()) drop_oldest();
}

}  // namespace aqua::fleet
