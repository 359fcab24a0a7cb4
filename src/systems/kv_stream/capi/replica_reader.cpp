// SPDX-License-Identifier: Apache-2.0
// Replica readers over the C ABI.
#include <cstring>
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

aqua_replica_reader_status to_c(const kv_stream::ReplicaReaderStatus& status) noexcept {
  aqua_replica_reader_status c = AQUA_REPLICA_READER_STATUS_INIT;
  c.packs = status.packs;
  c.refused = status.refused;
  c.unopened = status.unopened;
  c.other_lives = status.other_lives;
  copy_name(c.error, status.error);
  return c;
}

// Restores, and remembers what a replicator may adopt.
Result<Ticket> restore(const char* what, LockedReplicaReader& locked, std::uint64_t runtime,
                       const Layout& layout, const aqua_restore_options& options,
                       std::span<const std::uint32_t> ids, BlockList blocks, aqua_stream stream) {
  if (options.tokens > ids.size()) {
    return Error{Code::invalid_argument, concat(what, ": ", options.tokens, " tokens, of which ",
                                                ids.size(), " are known")};
  }
  const auto restored_ids = ids.first(options.tokens);
  const auto made = std::make_shared<RestoredSequence>();
  made->runtime = runtime;
  made->term = locked.term;
  made->place = locked.place;
  made->cache = layout.spec();
  made->ids.assign(restored_ids.begin(), restored_ids.end());
  made->blocks.assign(blocks.begin(), blocks.end());
  // Until all is posted, also where memory runs out, nobody knows what the blocks have.
  auto before = locked.restored.exchange(options.sequence, nullptr);
  auto read = locked.reader->restore(options.sequence, ids, options.tokens, layout, blocks,
                                     to_stream(stream));
  if (!read.ok()) {
    const Code code = read.error().code;
    if (code == Code::invalid_argument || code == Code::failed_precondition)  // nothing has changed
      locked.restored.exchange(options.sequence, std::move(before));
    return std::move(read).error();
  }
  made->pieces = std::move(read->pieces);
  if (options.tokens != 0) locked.restored.exchange(options.sequence, made);
  return std::move(read->ticket);
}

}  // namespace
}  // namespace aqua::capi

using namespace aqua::capi;
using aqua::Code;
using aqua::Error;
using aqua::MutexLock;
using aqua::Result;
using aqua::Ticket;

extern "C" {

aqua_error* aqua_replica_reader_open(aqua_runtime runtime,
                                     const aqua_replica_reader_options* options,
                                     aqua_replica_reader* reader) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_replica_reader_open";
    AQUA_CAPI_NOT_NULL(what, reader);
    AQUA_ASSIGN(const auto used, runtimes().use(what, runtime.id));
    AQUA_ASSIGN(const auto wanted, to_options(options));
    auto locked = std::make_unique<LockedReplicaReader>(ReplicaPlace{wanted.owner, wanted.shape},
                                                        wanted.term);
    AQUA_ASSIGN(auto opened, aqua::kv_stream::ReplicaReader::open(*used, wanted));
    locked->reader.emplace(std::move(opened));
    count_alive(Kind::replica_reader, [](std::uint64_t id) { return replica_readers().count(id); });
    AQUA_ASSIGN(reader->id, replica_readers().insert(
                                runtime.id, ReplicaReaderObject{used.keep(), std::move(locked)}));
    return {};
  });
}

aqua_error* aqua_replica_reader_free(aqua_replica_reader reader) {
  return free_waiting("aqua_replica_reader_free", replica_readers(), reader.id);
}

aqua_error* aqua_replica_reader_get_status(aqua_replica_reader reader,
                                           aqua_replica_reader_status* status) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_replica_reader_get_status";
    AQUA_TRY(check_size(what, status));
    AQUA_ASSIGN(const auto object, replica_readers().use(what, reader.id));
    LockedReplicaReader& locked = *object->locked;
    const MutexLock guard(locked.lock);
    give_out(to_c(locked.reader->status()), status);
    return {};
  });
}

aqua_error* aqua_replica_reader_sequences(aqua_replica_reader reader, const uint64_t** sequences,
                                          size_t* count) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_replica_reader_sequences";
    AQUA_CAPI_NOT_NULL(what, sequences);
    AQUA_CAPI_NOT_NULL(what, count);
    AQUA_ASSIGN(const auto object, replica_readers().use(what, reader.id));
    return ask_locked(what, *object->locked, [&](LockedReplicaReader& asked) -> Result<void> {
      asked.sequences = asked.reader->sequences();
      *sequences = asked.sequences.data();
      *count = asked.sequences.size();
      return {};
    });
  });
}

aqua_error* aqua_replica_reader_get_watermark(aqua_replica_reader reader, uint64_t sequence,
                                              const uint32_t* ids, size_t id_count, uint32_t room,
                                              uint32_t* tokens) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_replica_reader_get_watermark";
    AQUA_CAPI_NOT_NULL(what, tokens);
    AQUA_ASSIGN(const auto object, replica_readers().use(what, reader.id));
    AQUA_ASSIGN(const auto known, to_ids(what, ids, id_count));
    return ask_locked(what, *object->locked, [&](const LockedReplicaReader& asked) -> Result<void> {
      *tokens = asked.reader->watermark(sequence, known, room);
      return {};
    });
  });
}

aqua_error* aqua_replica_reader_get_sampler(aqua_replica_reader reader, uint64_t sequence,
                                            const uint32_t* ids, size_t id_count, void* state,
                                            size_t capacity, size_t* state_bytes,
                                            uint32_t* tokens) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_replica_reader_get_sampler";
    if (capacity != 0) AQUA_CAPI_NOT_NULL(what, state);
    AQUA_CAPI_NOT_NULL(what, state_bytes);
    AQUA_CAPI_NOT_NULL(what, tokens);
    AQUA_ASSIGN(const auto object, replica_readers().use(what, reader.id));
    AQUA_ASSIGN(const auto known, to_ids(what, ids, id_count));
    return ask_locked(what, *object->locked, [&](const LockedReplicaReader& asked) -> Result<void> {
      const auto latest = asked.reader->sampler(sequence, known);
      const std::size_t bytes = latest ? latest->state.size() : 0;
      if (bytes > capacity) {
        return Error{Code::invalid_argument, aqua::concat(what, ": a state of ", bytes,
                                                          " bytes, and memory for ", capacity)};
      }
      if (bytes != 0) std::memcpy(state, latest->state.data(), bytes);
      *state_bytes = bytes;
      *tokens = latest ? latest->tokens : 0;
      return {};
    });
  });
}

aqua_error* aqua_replica_reader_restore(aqua_replica_reader reader, aqua_layout layout,
                                        const aqua_restore_options* options, aqua_stream stream,
                                        aqua_ticket* ticket) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_replica_reader_restore";
    AQUA_ASSIGN(const auto given,
                take_in<aqua_restore_options>("aqua_replica_reader_restore: options", options,
                                              AQUA_RESTORE_OPTIONS_INIT));
    AQUA_ASSIGN(const auto object, replica_readers().use(what, reader.id));
    AQUA_ASSIGN(const auto described, layouts().use(what, layout.id));
    AQUA_ASSIGN(const auto blocks,
                to_block_list(what, *described, given.blocks, given.block_count));
    AQUA_ASSIGN(const auto ids, to_ids(what, given.ids, given.id_count));
    return post_with_ticket(what, object->runtime.id(), ticket, [&]() -> Result<Ticket> {
      Ticket copies;
      AQUA_TRY(use_locked(what, *object->locked, [&](LockedReplicaReader& used) -> Result<void> {
        AQUA_ASSIGN(copies, restore(what, used, object->runtime.id(), *described, given, ids,
                                    blocks, stream));
        return {};
      }));
      return copies;
    });
  });
}

aqua_error* aqua_replica_reader_finish(aqua_replica_reader reader, aqua_stream stream) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_replica_reader_finish";
    AQUA_ASSIGN(const auto object, replica_readers().use(what, reader.id));
    // It is made to be called again, also after an exception.
    return ask_locked(what, *object->locked, [&](LockedReplicaReader& used) {
      return used.reader->finish(to_stream(stream));
    });
  });
}

aqua_error* aqua_replica_reader_drop_other_lives(aqua_replica_reader reader) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_replica_reader_drop_other_lives";
    AQUA_ASSIGN(const auto object, replica_readers().use(what, reader.id));
    return use_locked(what, *object->locked,
                      [](LockedReplicaReader& used) { return used.reader->drop_other_lives(); });
  });
}

}  // extern "C"
