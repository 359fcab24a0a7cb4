// SPDX-License-Identifier: Apache-2.0
// Replicators over the C ABI.
#include <memory>
#include <utility>

#include "capi/callbacks.hpp"
#include "capi/convert.hpp"
#include "capi/post.hpp"
#include "capi/sized.hpp"
#include "systems/kv_stream/capi/replica_objects.hpp"
#include "systems/kv_stream/capi/replica_options.hpp"

namespace aqua::capi {
namespace {

aqua_replicator_status to_c(const kv_stream::ReplicatorStatus& status) noexcept {
  aqua_replicator_status c = AQUA_REPLICATOR_STATUS_INIT;
  c.sequences = status.sequences;
  c.unprotected = status.unprotected.size();
  c.copied_bytes = status.copied_bytes;
  c.rewritten_bytes = status.rewritten_bytes;
  c.packs_committed = status.packs_committed;
  c.packs_failed = status.packs_failed;
  c.steps_unprotected = status.steps_unprotected;
  c.packs_kept = status.packs_kept;
  c.kept_bytes = status.kept_bytes;
  c.most_lag = status.most_lag;
  c.connected = status.connected ? 1 : 0;
  copy_name(c.error, status.error);
  return c;
}

// Runs use(locked) as the only call on the replicator. `what` names the call.
template <typename Use>
Result<void> use_replicator(const char* what, aqua_replicator handle, Use&& use) {
  AQUA_ASSIGN(const auto object, replicators().use(what, handle.id));
  return use_locked(what, *object->locked, use);
}

bool are_one_cache(const LayoutSpec& a, const LayoutSpec& b) {
  return a.layers == b.layers && a.planes_per_layer == b.planes_per_layer && a.planes == b.planes &&
         a.block_count == b.block_count && a.block_stride == b.block_stride && a.axes == b.axes;
}

// What the reader has restored of the sequence, into the cache of this replicator.
Result<RestoredSequences::Record> restored_by(const char* what, aqua_replica_reader handle,
                                              std::uint64_t sequence, std::uint64_t runtime,
                                              const LockedReplicator& replicator) {
  AQUA_ASSIGN(const auto object, replica_readers().use(what, handle.id));
  const auto record = object->locked->restored.find(sequence);
  if (record == nullptr) {
    return Error{Code::not_found,
                 concat(what, ": the reader has restored nothing of sequence ", sequence)};
  }
  if (record->runtime != runtime || !are_one_cache(record->cache, replicator.layout.spec())) {
    return Error{Code::invalid_argument,
                 concat(what, ": sequence ", sequence,
                        " was restored into another cache than this ", "replicator's")};
  }
  return record;
}

// Pieces that a recovery in the replicator's place would not find are left out.
Result<void> adopt(const char* what, LockedReplicator& locked, std::uint64_t sequence,
                   const RestoredSequence& restored) {
  if (restored.place.owner == locked.place.owner && restored.term != locked.term) {
    return Error{Code::failed_precondition,
                 concat(what, ": the replicator is in term ", locked.term, ", and the reader in ",
                        restored.term, ", which takes what the other commits for the dead one's")};
  }
  kv_stream::AdoptedReplica adopted{
      .sequence = sequence, .blocks = restored.blocks, .ids = restored.ids};
  if (restored.place == locked.place) adopted.pieces = restored.pieces;
  return locked.replicator->adopt(adopted);
}

}  // namespace
}  // namespace aqua::capi

using namespace aqua::capi;
using aqua::MutexLock;
using aqua::Result;
using aqua::Ticket;

extern "C" {

aqua_error* aqua_replicator_create(aqua_runtime runtime, aqua_layout layout,
                                   const aqua_replicator_options* options,
                                   aqua_replicator* replicator) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_replicator_create";
    AQUA_CAPI_NOT_NULL(what, replicator);
    AQUA_ASSIGN(const auto used, runtimes().use(what, runtime.id));
    AQUA_ASSIGN(const auto described, layouts().use(what, layout.id));
    AQUA_ASSIGN(const auto wanted, to_options(options));
    auto locked = std::make_unique<LockedReplicator>(
        aqua::Layout(*described), ReplicaPlace{wanted.owner, wanted.shape}, wanted.term);
    AQUA_ASSIGN(auto made, aqua::kv_stream::Replicator::create(*used, locked->layout, wanted));
    locked->replicator.emplace(std::move(made));
    count_alive(Kind::replicator, [](std::uint64_t id) { return replicators().count(id); });
    AQUA_ASSIGN(replicator->id,
                replicators().insert(runtime.id, ReplicatorObject{used.keep(), std::move(locked)}));
    return {};
  });
}

aqua_error* aqua_replicator_free(aqua_replicator replicator) {
  return free_waiting("aqua_replicator_free", replicators(), replicator.id);
}

aqua_error* aqua_replicator_get_status(aqua_replicator replicator, aqua_replicator_status* status) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_replicator_get_status";
    AQUA_TRY(check_size(what, status));
    AQUA_ASSIGN(const auto object, replicators().use(what, replicator.id));
    LockedReplicator& locked = *object->locked;
    const MutexLock guard(locked.lock);
    give_out(to_c(locked.replicator->status()), status);
    return {};
  });
}

aqua_error* aqua_replicator_step(aqua_replicator replicator,
                                 const aqua_written_tokens* const* written, size_t count,
                                 aqua_stream stream, aqua_ticket* ticket) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_replicator_step";
    AQUA_ASSIGN(const auto object, replicators().use(what, replicator.id));
    LockedReplicator& locked = *object->locked;
    AQUA_ASSIGN(const auto all, to_written(what, locked.layout, written, count));
    return post_with_ticket(what, object->runtime.id(), ticket, [&]() -> Result<Ticket> {
      Ticket copies;
      AQUA_TRY(use_locked(what, locked, [&](LockedReplicator& used) -> Result<void> {
        AQUA_ASSIGN(copies, used.replicator->step(all, to_stream(stream)));
        return {};
      }));
      return copies;
    });
  });
}

aqua_error* aqua_replicator_flush(aqua_replicator replicator, aqua_stream stream) {
  return call([&] {
    return use_replicator("aqua_replicator_flush", replicator, [&](LockedReplicator& used) {
      return used.replicator->flush(to_stream(stream));
    });
  });
}

aqua_error* aqua_replicator_without_blocks(aqua_replicator replicator, uint64_t sequence) {
  return call([&] {
    return use_replicator("aqua_replicator_without_blocks", replicator,
                          [&](LockedReplicator& used) -> Result<void> {
                            used.replicator->without_blocks(sequence);
                            return {};
                          });
  });
}

aqua_error* aqua_replicator_finish(aqua_replicator replicator, uint64_t sequence) {
  return call([&] {
    return use_replicator("aqua_replicator_finish", replicator,
                          [&](LockedReplicator& used) -> Result<void> {
                            used.replicator->finish(sequence);
                            return {};
                          });
  });
}

aqua_error* aqua_replicator_seal(aqua_replicator replicator) {
  return call([&] {
    return use_replicator("aqua_replicator_seal", replicator,
                          [](LockedReplicator& used) -> Result<void> {
                            used.replicator->seal();
                            return {};
                          });
  });
}

aqua_error* aqua_replicator_resume(aqua_replicator replicator, uint64_t term) {
  return call([&] {
    return use_replicator("aqua_replicator_resume", replicator,
                          [&](LockedReplicator& used) -> Result<void> {
                            used.replicator->resume(term);
                            used.term = term;
                            return {};
                          });
  });
}

aqua_error* aqua_replicator_adopt(aqua_replicator replicator, aqua_replica_reader reader,
                                  uint64_t sequence) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_replicator_adopt";
    AQUA_ASSIGN(const auto object, replicators().use(what, replicator.id));
    LockedReplicator& locked = *object->locked;
    AQUA_ASSIGN(const auto restored,
                restored_by(what, reader, sequence, object->runtime.id(), locked));
    return use_locked(what, locked, [&](LockedReplicator& used) {
      return adopt(what, used, sequence, *restored);
    });
  });
}

aqua_error* aqua_replicator_reconnect(aqua_replicator replicator) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_replicator_reconnect";
    AQUA_TRY(check_may_wait(what));
    return use_replicator(what, replicator,
                          [](LockedReplicator& used) { return used.replicator->reconnect(); });
  });
}

aqua_error* aqua_replicator_poll(aqua_replicator replicator) {
  return call([&] {
    return use_replicator("aqua_replicator_poll", replicator,
                          [](LockedReplicator& used) -> Result<void> {
                            used.replicator->poll();
                            return {};
                          });
  });
}

aqua_error* aqua_replicator_wait(aqua_replicator replicator, uint32_t patience_ms, int* news) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_replicator_wait";
    AQUA_CAPI_NOT_NULL(what, news);
    AQUA_TRY(check_may_wait(what));
    AQUA_ASSIGN(const auto object, replicators().use(what, replicator.id));
    // Without the lock: the replicator is others' meanwhile.
    *news = object->locked->replicator->wait(std::chrono::milliseconds(patience_ms)) ? 1 : 0;
    return {};
  });
}

aqua_error* aqua_replicator_get_watermark(aqua_replicator replicator, uint64_t sequence,
                                          uint32_t* tokens) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_replicator_get_watermark";
    AQUA_CAPI_NOT_NULL(what, tokens);
    AQUA_ASSIGN(const auto object, replicators().use(what, replicator.id));
    return ask_locked(what, *object->locked, [&](const LockedReplicator& asked) -> Result<void> {
      *tokens = asked.replicator->watermark(sequence);
      return {};
    });
  });
}

aqua_error* aqua_replicator_unprotected(aqua_replicator replicator, const uint64_t** sequences,
                                        size_t* count) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_replicator_unprotected";
    AQUA_CAPI_NOT_NULL(what, sequences);
    AQUA_CAPI_NOT_NULL(what, count);
    AQUA_ASSIGN(const auto object, replicators().use(what, replicator.id));
    return ask_locked(what, *object->locked, [&](LockedReplicator& asked) -> Result<void> {
      asked.unprotected = asked.replicator->status().unprotected;
      *sequences = asked.unprotected.data();
      *count = asked.unprotected.size();
      return {};
    });
  });
}

}  // extern "C"
