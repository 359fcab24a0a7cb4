// SPDX-License-Identifier: Apache-2.0
#include "systems/prefix/decide/prefix_history.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "systems/prefix/decide/bytes_at.hpp"

namespace aqua::prefix {
namespace {

constexpr std::string_view kHistoryMagic = "AQUAPFH1";
constexpr std::size_t kHashedHistory = 24;  // all is hashed from here on
constexpr std::size_t kFixedPrompt = 16;
constexpr std::size_t kShortWhile = 64;  // prompts that may come between asking and storing

BlockHash hash_of(std::span<const std::byte> bytes) {
  return chain_root({reinterpret_cast<const char*>(bytes.data()), bytes.size()});  // XXH3
}

std::size_t bytes_of(const PrefixHistory::Prompt& prompt) {
  return kFixedPrompt + prompt.chain.size() * sizeof(BlockHash);
}

Prefix prefix_of(const PrefixHistory::Prompt& prompt) {
  return {prompt.chain, prompt.tokens};
}

// A prompt as the cache met it. What is not there any more is found out later.
void show(PrefixIndex& index, const Prefix& prefix, bool asked, bool stored) {
  PrefixMatch hit;
  if (asked) hit = index.acquire(prefix);
  if (stored) (void)index.insert(prefix, Tier::peer);  // as PrefixCache::store() does
  if (asked) (void)index.release(prefix.chain.first(hit.blocks));
}

}  // namespace

void PrefixHistory::stored(const Prefix& prefix) {
  const std::size_t least = prompts_.size() - std::min(prompts_.size(), kShortWhile);
  for (std::size_t i = prompts_.size(); i-- > least;) {
    Prompt& earlier = prompts_[i];
    if (earlier.stored || earlier.tokens != prefix.tokens) continue;
    if (!std::ranges::equal(earlier.chain, prefix.chain)) continue;
    earlier.stored = true;
    return;
  }
  add(prefix, false);
}

void PrefixHistory::add(const Prefix& prefix, bool asked) {
  if (prefix.chain.empty()) return;
  append({{prefix.chain.begin(), prefix.chain.end()}, prefix.tokens, asked, !asked});
}

void PrefixHistory::append(Prompt prompt) {
  bytes_ += bytes_of(prompt);
  prompts_.push_back(std::move(prompt));
  while (bytes_ > most_bytes_ && !prompts_.empty()) {
    bytes_ -= bytes_of(prompts_.front());
    prompts_.pop_front();
  }
}

void PrefixHistory::write(const PackHead& head, std::span<std::byte> segment) const {
  const auto all = segment.first(bytes_);
  std::memcpy(all.data(), kHistoryMagic.data(), kHistoryMagic.size());
  put_at(all, 24, head.owner);
  put_at(all, 40, head.shape);
  put_at(all, 56, head.order);
  put_at(all, 64, std::uint64_t{prompts_.size()});
  std::size_t at = kHistoryHeadBytes;
  for (const Prompt& prompt : prompts_) {
    put_at(all, at, prompt.tokens);
    put_at(all, at + 8, static_cast<std::uint32_t>(prompt.chain.size()));
    put_at(all, at + 12, (prompt.asked ? 1U : 0U) + (prompt.stored ? 2U : 0U));
    put_at(all, at + kFixedPrompt, std::span<const BlockHash>(prompt.chain));
    at += bytes_of(prompt);
  }
  put_at(all, 8, hash_of(all.subspan(kHashedHistory)));
}

Result<PackHead> PrefixHistory::read(std::span<const std::byte> segment) {
  const Error wrong{Code::invalid_argument, "the segment has no history of prefixes that can be"};
  if (segment.size() < kHistoryHeadBytes ||
      std::memcmp(segment.data(), kHistoryMagic.data(), kHistoryMagic.size()) != 0 ||
      get_at<BlockHash>(segment, 8) != hash_of(segment.subspan(kHashedHistory)))
    return wrong;
  PrefixHistory read(most_bytes_);
  std::size_t at = kHistoryHeadBytes;
  for (auto left = get_at<std::uint64_t>(segment, 64); left > 0; --left) {
    if (segment.size() - at < kFixedPrompt) return wrong;
    Prompt prompt{.tokens = get_at<std::uint64_t>(segment, at)};
    const auto blocks = get_at<std::uint32_t>(segment, at + 8);
    const auto how = get_at<std::uint32_t>(segment, at + 12);
    at += kFixedPrompt;
    if (how == 0 || how > 3 || blocks == 0 || blocks > (segment.size() - at) / sizeof(BlockHash))
      return wrong;
    prompt.asked = (how & 1U) != 0;
    prompt.stored = (how & 2U) != 0;
    prompt.chain.resize(blocks);
    get_at(segment, at, std::span(prompt.chain));
    at += blocks * sizeof(BlockHash);
    read.append(std::move(prompt));
  }
  if (at != segment.size()) return wrong;
  prompts_ = std::move(read.prompts_);
  bytes_ = read.bytes_;
  return PackHead{get_at<BlockHash>(segment, 24), get_at<BlockHash>(segment, 40),
                  get_at<std::uint64_t>(segment, 56)};
}

// What was stored before the history begins comes first, as what was used least recently, and what
// was stored after its end last.
void restore_index(PrefixIndex& index, std::span<const PrefixPack> packs,
                   const PrefixHistory& history, std::uint64_t order,
                   const std::function<bool(const BlockHash&)>& has) {
  std::unordered_set<BlockHash> told;
  for (const auto& prompt : history.prompts())
    told.insert(prompt.chain.begin(), prompt.chain.end());
  for (const PrefixPack& pack : packs) {
    if (pack.head.order < order && !told.contains(pack.chain.back()))
      show(index, pack.prefix(), false, true);
  }
  for (const auto& prompt : history.prompts()) {
    show(index, prefix_of(prompt), prompt.asked, prompt.stored);
  }
  for (const PrefixPack& pack : packs) {
    if (pack.head.order > order) show(index, pack.prefix(), true, true);
  }
  const auto settle = [&](const Prefix& prefix) {
    for (const BlockHash& block : prefix.chain.first(index.match(prefix).blocks)) {
      if (has(block)) {
        (void)index.moved(block, Tier::host);
      } else {
        (void)index.lost(block);
        break;
      }
    }
  };
  for (const auto& prompt : history.prompts()) settle(prefix_of(prompt));
  for (const PrefixPack& pack : packs) settle(pack.prefix());
}

}  // namespace aqua::prefix
