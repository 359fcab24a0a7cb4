// SPDX-License-Identifier: Apache-2.0
// NaiveBook says what ReplicaBook does, from two words for each token: which pack holds it, and
// with which one it is coming.
//
// Threads: one.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "systems/kv_stream/decide/replica/replica_book.hpp"

namespace aqua::kv_stream {

class NaiveBook {
 public:
  explicit NaiveBook(std::uint32_t lag) : lag_(lag) {}

  void written(SequenceId sequence, std::uint32_t tokens) {
    auto& all = sequences_[sequence];
    if (all.size() < tokens) all.resize(tokens);
  }
  void cut(SequenceId sequence, std::uint32_t tokens) {
    const auto found = sequences_.find(sequence);
    if (found != sequences_.end() && found->second.size() > tokens) found->second.resize(tokens);
  }
  void finish(SequenceId sequence) { sequences_.erase(sequence); }

  [[nodiscard]] TokenSpan next(SequenceId sequence) const {
    const auto found = sequences_.find(sequence);
    if (found == sequences_.end()) return {};
    const auto missing = [](const Token& token) { return token.held == 0 && token.coming == 0; };
    const auto first = std::ranges::find_if(found->second, missing);
    const auto end = std::find_if_not(first, found->second.end(), missing);
    if (first == end) return {};
    return {static_cast<std::uint32_t>(first - found->second.begin()),
            static_cast<std::uint32_t>(end - found->second.begin())};
  }
  void put(SequenceId sequence, TokenSpan span, PackId pack) {
    packs_[pack] = false;
    for (std::uint32_t i = span.first; i < span.end; ++i) sequences_[sequence][i].coming = pack;
  }
  void held(PackId pack) {
    if (!packs_.contains(pack)) return;
    packs_[pack] = true;
    each([&](SequenceId, std::uint32_t, Token& token) {
      if (token.coming == pack) token = {.held = pack};
    });
  }
  void failed(PackId pack) {
    packs_.erase(pack);
    each([&](SequenceId, std::uint32_t, Token& token) {
      if (token.coming == pack) token.coming = 0;
      if (token.held == pack) token.held = 0;
    });
  }
  // Each as a span of one token.
  [[nodiscard]] std::vector<SequenceSpan> live(PackId pack) {
    std::vector<SequenceSpan> all;
    each([&](SequenceId sequence, std::uint32_t at, Token& token) {
      if (token.held == pack && token.coming == 0) all.push_back({sequence, {at, at + 1}});
    });
    return all;
  }
  [[nodiscard]] std::vector<PackId> take_dead() {
    std::set<PackId> needed;
    each([&](SequenceId, std::uint32_t, Token& token) { needed.insert(token.held); });
    std::vector<PackId> dead;
    for (const auto& [pack, is_held] : packs_) {
      if (is_held && !needed.contains(pack)) dead.push_back(pack);
    }
    for (const PackId pack : dead) packs_.erase(pack);
    return dead;
  }
  [[nodiscard]] std::vector<PackId> packs(bool that_are_held) const {
    std::vector<PackId> all;
    for (const auto& [pack, is_held] : packs_) {
      if (is_held == that_are_held) all.push_back(pack);
    }
    return all;
  }
  [[nodiscard]] std::uint32_t tokens(SequenceId sequence) const {
    const auto found = sequences_.find(sequence);
    return found == sequences_.end() ? 0 : static_cast<std::uint32_t>(found->second.size());
  }
  [[nodiscard]] std::uint32_t watermark(SequenceId sequence) const {
    std::uint32_t mark = 0;
    while (mark < tokens(sequence) && sequences_.at(sequence)[mark].held != 0) ++mark;
    return mark;
  }
  [[nodiscard]] bool is_protected(SequenceId sequence) const {
    return tokens(sequence) - watermark(sequence) <= lag_;
  }

 private:
  struct Token {
    PackId held = 0;
    PackId coming = 0;
  };
  template <typename Visit>
  void each(Visit visit) {
    for (auto& [sequence, tokens] : sequences_) {
      for (std::uint32_t i = 0; i < tokens.size(); ++i) visit(sequence, i, tokens[i]);
    }
  }
  const std::uint32_t lag_;
  std::map<SequenceId, std::vector<Token>> sequences_{};
  std::map<PackId, bool> packs_{};  // whether they are held
};

}  // namespace aqua::kv_stream
