// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/decide/stream/intake.hpp"

#include <algorithm>
#include <utility>

#include "base/concat.hpp"

namespace aqua::kv_stream {
namespace {

std::vector<std::uint64_t> parcels_of(const Intake::Sequence& sequence) {
  std::vector<std::uint64_t> all;
  for (const auto& [source, parcel] : sequence.parcels) all.push_back(parcel);
  return all;
}

Error refused(Code code, const StreamPart& part, const std::string& why) {
  return {code, concat("a part of sequence ", part.sequence, " by rank ", part.source, " of group ",
                       part.group, ": ", why)};
}

}  // namespace

Intake::Intake(std::vector<std::vector<std::uint32_t>> sources) : sources_(std::move(sources)) {
  for (auto& ranks : sources_) std::ranges::sort(ranks);
}

Result<std::vector<std::uint64_t>> Intake::add(const StreamPart& part) {
  if (part.group >= sources_.size() ||
      !std::ranges::binary_search(sources_[part.group], part.source))
    return refused(Code::invalid_argument, part, "no such rank sends anything here");
  if (part.tokens == 0) return refused(Code::invalid_argument, part, "it has no tokens");

  std::vector<std::uint64_t> useless;
  const auto found = sequences_.find(part.sequence);
  if (found != sequences_.end() && found->second.attempt > part.attempt)
    return std::vector{part.parcel};
  if (cut_off_.contains({part.group, part.sequence, part.attempt})) return std::vector{part.parcel};
  if (found != sequences_.end() && found->second.attempt == part.attempt) {
    Sequence& known = found->second;
    if (known.group != part.group)
      return refused(Code::already_exists, part, concat("group ", known.group, " streams it"));
    if (known.tokens != part.tokens || known.words != part.words)
      return refused(Code::invalid_argument, part,
                     concat(part.tokens, " tokens, or words, that differ from the first part's ",
                            known.tokens));
    if (!known.parcels.emplace(part.source, part.parcel).second)
      return refused(Code::already_exists, part, "it is there");
    return useless;
  }
  if (found != sequences_.end()) useless = parcels_of(found->second);
  sequences_[part.sequence] = {.attempt = part.attempt,
                               .group = part.group,
                               .tokens = part.tokens,
                               .words = part.words,
                               .parcels = {{part.source, part.parcel}}};
  return useless;
}

std::optional<std::vector<std::uint64_t>> Intake::cut_off(std::uint32_t group,
                                                          std::uint64_t sequence,
                                                          std::uint32_t attempt) {
  const Attempt key{group, sequence, attempt};
  if (cut_off_.contains(key)) return {};
  const auto found = sequences_.find(sequence);
  const bool is_here = found != sequences_.end() && found->second.group == group;
  if (is_here &&
      (found->second.attempt > attempt || (found->second.attempt == attempt && found->second.told)))
    return {};
  cut_off_.insert(key);
  cut_off_order_.push_back(key);
  if (cut_off_order_.size() > kMostCutOff) {
    cut_off_.erase(cut_off_order_.front());
    cut_off_order_.pop_front();
  }
  return is_here && found->second.attempt == attempt ? drop(sequence)
                                                     : std::vector<std::uint64_t>{};
}

std::vector<std::uint64_t> Intake::take_complete() {
  std::vector<std::uint64_t> all;
  for (auto& [number, sequence] : sequences_) {
    if (sequence.told || !complete(sequence)) continue;
    sequence.told = true;
    all.push_back(number);
  }
  return all;
}

std::vector<std::uint64_t> Intake::untold() const {
  std::vector<std::uint64_t> all;
  for (const auto& [number, sequence] : sequences_) {
    if (!sequence.told) all.push_back(number);
  }
  return all;
}

const Intake::Sequence* Intake::find(std::uint64_t sequence) const {
  const auto found = sequences_.find(sequence);
  return found == sequences_.end() ? nullptr : &found->second;
}

// add() lets no rank in that is not one of the group's.
bool Intake::complete(const Sequence& sequence) const {
  return sequence.parcels.size() == sources_[sequence.group].size();
}

std::vector<std::uint64_t> Intake::drop(std::uint64_t sequence) {
  const auto found = sequences_.find(sequence);
  if (found == sequences_.end()) return {};
  std::vector<std::uint64_t> parcels = parcels_of(found->second);
  sequences_.erase(found);
  return parcels;
}

std::optional<std::uint64_t> Intake::sequence_of(std::uint64_t parcel) const {
  for (const auto& [number, sequence] : sequences_) {
    const auto is_it = [&](const auto& each) { return each.second == parcel; };
    if (std::ranges::any_of(sequence.parcels, is_it)) return number;
  }
  return {};
}

}  // namespace aqua::kv_stream
