// SPDX-License-Identifier: Apache-2.0
// KeptPrefixes: the prompts that its cache has met, in a segment of their own. Each time they are
// written anew, and the segment before is dropped once that is committed.
#include <algorithm>

#include "systems/prefix/act/kept_prefixes.hpp"

namespace aqua {
namespace {

constexpr std::size_t kMany = 64;  // prompts asked for or stored: of so many it is not told

}  // namespace

bool KeptPrefixes::write_history(bool any) {
  if (history_next_.number != 0) return false;
  // max_bytes bounds the blocks alone: the list is written where they have used it up, too.
  if (unwritten_ < (any ? 1 : kMany)) return true;
  const std::size_t bytes = history_.bytes();
  const auto segment = segments_->take(bytes);
  if (!segment.ok()) return false;
  history_.write({owner_hash_, shape_hash_, ++order_}, {segment->address, segment->bytes});
  if (const auto posted = segments_->commit(segment->number, bytes, side_->stream());
      !posted.ok()) {
    failed(posted.error());
    (void)segments_->release(segment->number);
    return true;
  }
  history_next_ = *segment;
  unwritten_ = 0;
  return false;
}

bool KeptPrefixes::history_committed(const CommittedSegment& outcome) {
  if (history_next_.number == 0 || outcome.name.number != history_next_.number) return false;
  history_next_ = {};
  if (outcome.error) {
    failed(*outcome.error);
    (void)segments_->release(outcome.name.number);
    unwritten_ = std::max<std::size_t>(unwritten_, 1);  // for a write_behind() that waits
    return true;
  }
  if (history_at_.number != 0) (void)segments_->drop(history_at_);
  history_at_ = outcome.name;
  return true;
}

}  // namespace aqua
