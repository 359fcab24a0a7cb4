// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/act/replicated.hpp"

#include <algorithm>
#include <iterator>

#include "base/concat.hpp"
#include "base/step.hpp"
#include "base/try.hpp"
#include "systems/kv_stream/decide/replica/merge.hpp"

namespace aqua::kv_stream {
namespace {

constexpr unsigned kMergedAtOnce = 8;
constexpr std::size_t kRemembered = 4096;         // packs beyond those that are kept
constexpr std::chrono::seconds kLastOutcomes{5};  // of a keeper that is stopped

}  // namespace

void Replicator::Parts::poll() {
  for (const CommittedSegment& outcome : segments->committed()) {
    const PackId pack = outcome.name.number;
    const auto posted = committing.find(pack);
    if (posted == committing.end()) continue;
    if (outcome.error) {
      ++counted.packs_failed;
      counted.error = outcome.error->message;
      book.failed(pack);
      failed.push_back(pack);
    } else {
      ++counted.packs_committed;
      kept[pack] = {outcome.name, posted->second};
      book.held(pack);
    }
    committing.erase(posted);
  }
  release_failed();
}

// Names no stream: the one that the copies were posted to may be gone.
void Replicator::Parts::release_failed() {
  std::erase_if(failed, [&](PackId pack) {
    const auto released = segments->release(pack);
    return released.ok() || released.error().code == Code::not_found;  // the keeper has refused it
  });
}

void Replicator::Parts::drop_dead() {
  for (const PackId pack : book.take_dead()) {
    const auto found = kept.find(pack);
    if (found == kept.end()) continue;
    (void)segments->drop(found->second.name);  // where the keeper is away, go_on() does
    kept.erase(found);
  }
  merge_limit = std::clamp(kept_bytes() + options.pack_bytes, options.max_bytes, merge_limit);
}

// Nobody drops a pack whose owner has not heard that it was committed.
void Replicator::Parts::settle() {
  const auto deadline = std::chrono::steady_clock::now() + kLastOutcomes;
  for (;;) {
    poll();
    drop_dead();
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (committing.empty() || left.count() <= 0 || !connected()) return;
    (void)segments->wait(left);
  }
}

Result<void> Replicator::Parts::take_stock() {
  poll();
  AQUA_ASSIGN(const auto there, list_segments(options.keeper));
  std::set<PackId> still;
  for (const SegmentStatus& each : there) {
    const PackId pack = each.name.number;
    const auto found = kept.find(pack);
    // A copy of another server's segment that was adopted is none that is adopted any more: it may
    // go with its original.
    if (found != kept.end() && found->second.name == each.name && !each.copy_of) {
      still.insert(pack);
    } else if (mine.contains(pack)) {
      AQUA_TRY(drop_there(each.name));
    }
  }
  for (auto it = kept.begin(); it != kept.end();) {
    if (!still.contains(it->first)) {
      AQUA_TRY(drop_there(it->second.name));  // which may have no memory for it, and lists it not
      book.failed(it->first);
      it = kept.erase(it);
    } else {
      ++it;
    }
  }
  return {};
}

// What the keeper refuses to drop it does not have.
Result<void> Replicator::Parts::drop_there(const SegmentName& name) const {
  auto dropped = drop_segment(name.number, name.generation, options.keeper);
  if (!dropped.ok() && dropped.error().code == Code::unavailable) return dropped;
  return {};
}

std::shared_ptr<Segments> Replicator::Parts::go_on(std::shared_ptr<Segments> with) {
  // What was not committed has ended with the former keeper. Of a commit that it has not answered
  // it may have left a segment all the same, which take_stock() has dropped.
  if (open) book.failed(open->number());
  open.reset();
  for (const auto& [pack, capacity] : committing) book.failed(pack);
  counted.packs_failed += committing.size();
  committing.clear();
  failed.clear();
  merging.clear();
  segments.swap(with);
  {
    const MutexLock lock(awaited_lock);
    awaited = segments;
  }
  drop_dead();
  return with;
}

// Numbers of one keeper ascend: the lowest that are not kept were given back to it long ago.
void Replicator::Parts::remember(PackId pack) {
  mine.insert(pack);
  for (auto it = mine.begin(); mine.size() > kept.size() + kRemembered && it != mine.end();)
    it = kept.contains(*it) ? std::next(it) : mine.erase(it);
}

std::size_t Replicator::Parts::kept_bytes() const {
  std::size_t bytes = open ? open->capacity() : 0;
  for (const auto& [pack, capacity] : committing) bytes += capacity;
  for (const auto& [pack, each] : kept) bytes += each.capacity;
  return bytes;
}

// The last pack that there is room for is left to merging, which gives others back.
bool Replicator::Parts::open_pack(bool merges) {
  if (open) return true;
  const bool fits = merges ? kept_bytes() + options.pack_bytes <= merge_limit
                           : kept_bytes() + 2 * options.pack_bytes <= options.max_bytes;
  if (!fits) {
    counted.error = concat("replicator: the replicas take ", kept_bytes(), " bytes, of at most ",
                           options.max_bytes);
    return false;
  }
  const auto segment = segments->take(options.pack_bytes);
  if (!segment.ok()) {
    counted.error = segment.error().message;
    return false;
  }
  remember(segment->number);
  open.emplace(*segment, head);
  return true;
}

std::uint32_t Replicator::Parts::send(SequenceId id, TokenSpan span, Stream stream,
                                      std::size_t& budget, bool merges) {
  const Sequence& sequence = sequences.at(id);
  std::uint32_t sent = 0;
  while (!span.empty() && budget >= head.token_bytes && open_pack(merges)) {
    PackEntry entry{.sequence = id, .first = span.first, .before = {}, .sampler = sequence.sampler};
    const std::uint64_t room = open->room(entry);
    if (room == 0) {
      commit(stream);
      continue;
    }
    const std::uint64_t fits = std::min<std::uint64_t>(room, budget / head.token_bytes);
    const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(span.count(), fits));
    entry.offset = open->next_offset();
    entry.before = sequence.ids.fingerprint(span.first);
    entry.sampler_ids = sequence.ids.fingerprint(entry.sampler.tokens);
    const auto ids = sequence.ids.ids(span.first, span.first + count);
    entry.ids.assign(ids.begin(), ids.end());
    auto copy = segments->gather(open->number(), entry.offset, layout, sequence.blocks,
                                 {.tokens = {span.first, count}}, stream);
    if (!copy.ok()) {
      counted.error = copy.error().message;
      break;
    }
    copies.push_back(std::move(*copy));
    open->add(std::move(entry));
    book.put(id, {span.first, span.first + count}, open->number());
    span.first += count;
    sent += count;
    budget -= count * head.token_bytes;
  }
  counted.copied_bytes += sent * head.token_bytes;
  return sent;
}

// A state of the sampler has an entry of its own, so that one is there for each position.
void Replicator::Parts::offer(const WrittenTokens& written, Stream stream) {
  std::uint32_t& first = waiting.try_emplace(written.sequence, written.first).first->second;
  first = std::min(first, written.first);
  if (!written.sampler.empty() || written.ids.size() >= options.pack_steps)
    gather_waiting(written.sequence, stream);
}

void Replicator::Parts::gather_waiting(SequenceId id, Stream stream) {
  std::size_t all = SIZE_MAX;  // what steps have computed is copied in any case
  (void)send(id, {waiting.at(id), book.tokens(id)}, stream, all);
  waiting.erase(id);
}

void Replicator::Parts::gather_waiting(Stream stream) {
  while (!waiting.empty()) gather_waiting(waiting.begin()->first, stream);
}

std::uint64_t Replicator::Parts::waiting_tokens() const {
  std::uint64_t tokens = 0;
  for (const auto& [id, first] : waiting) tokens += TokenSpan{first, book.tokens(id)}.count();
  return tokens;
}

TokenSpan Replicator::Parts::missing(SequenceId id) const {
  TokenSpan span = book.next(id);
  if (const auto waits = waiting.find(id); waits != waiting.end())
    span.end = std::min(span.end, waits->second);
  return span;
}

void Replicator::Parts::work_behind(Stream stream, bool pack_is_due) {
  std::size_t budget = options.background_bytes;
  for (const auto& [id, sequence] : sequences) {
    for (TokenSpan span = missing(id); !span.empty() && !sequence.blocks.empty();
         span = missing(id)) {
      if (send(id, span, stream, budget) == 0) break;
    }
  }
  if (merging.empty() && pack_is_due) {
    const bool short_of_room = kept_bytes() + 2 * options.pack_bytes > options.max_bytes;
    merging = short_of_room ? packs_to_merge_now(movable_loads(), pack_tokens)
                            : packs_to_merge(movable_loads(), pack_tokens, kMergedAtOnce);
  }
  if (!merge(stream, budget)) merging.clear();
}

std::vector<PackLoad> Replicator::Parts::movable_loads() const {
  std::vector<PackLoad> loads = book.loads();
  if (std::ranges::none_of(sequences, [](const auto& one) { return one.second.blocks.empty(); }))
    return loads;
  for (PackLoad& load : loads) {
    const bool stays = std::ranges::any_of(book.live(load.pack), [&](const SequenceSpan& each) {
      return sequences.at(each.sequence).blocks.empty();
    });
    if (stays) load.tokens = 0;
  }
  return loads;
}

bool Replicator::Parts::merge(Stream stream, std::size_t& budget) {
  bool any = false;
  for (const PackId pack : merging) {
    for (const SequenceSpan& each : book.live(pack)) {
      if (sequences.at(each.sequence).blocks.empty()) continue;
      const std::uint32_t sent = send(each.sequence, each.span, stream, budget, true);
      counted.rewritten_bytes += sent * head.token_bytes;
      any = any || sent > 0;
      if (sent < each.span.count()) return any;
    }
  }
  return any;
}

void Replicator::Parts::commit(Stream stream) {
  if (open->empty()) return;
  const std::size_t bytes = open->close(head.term);
  const PackId pack = open->number();
  const auto posted = segments->commit(pack, bytes, stream);
  if (posted.ok()) {
    committing[pack] = open->capacity();
  } else {
    counted.error = posted.error().message;
    ++counted.packs_failed;
    book.failed(pack);
    failed.push_back(pack);
    release_failed();
  }
  open.reset();
}

void Replicator::Parts::end_pack(Stream stream) {
  steps = 0;
  if (open) commit(stream);
}

}  // namespace aqua::kv_stream
