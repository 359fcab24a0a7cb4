// SPDX-License-Identifier: Apache-2.0
// What stands behind the handles of streams. A Streamer is for one thread at a time and the C ABI
// is for many: each has a lock, which calls on it and on what it streams out take in turn. An
// incoming stream asks its tickets and its carrier, which serve many threads, and has a lock of its
// own, so that who waits for it stops nobody. The streamer's lock is recursive, since `wanted` may
// make calls within a call.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "aqua/c/streamer.h"
#include "aqua/handoff/segment_carrier.hpp"
#include "aqua/kv_stream/streamer.hpp"
#include "base/mutex.hpp"
#include "capi/call.hpp"
#include "capi/handoff/shown_list.hpp"
#include "capi/objects.hpp"

namespace aqua::capi {

// What C calls a sequence that has arrived. It points into the other one.
struct ArrivedRow {
  explicit ArrivedRow(const kv_stream::Arrived& arrived) noexcept;
  aqua_arrived c;
};

struct CutOffRow {
  explicit CutOffRow(const kv_stream::CutOff& cut_off) noexcept
      : c{sizeof(aqua_cut_off), cut_off.sequence, cut_off.attempt} {}
  aqua_cut_off c;
};

struct LockedStreamer {
  explicit LockedStreamer(Layout of) : layout(std::move(of)) {}
  std::recursive_mutex lock{};
  bool in_wanted = false;    // a call further up waits for the engine's callback
  bool interrupted = false;  // an exception ended a call in its middle
  const Layout layout;
  std::optional<SegmentCarrier> carrier{};
  std::optional<kv_stream::Streamer> streamer{};
  ShownList<kv_stream::Arrived, ArrivedRow> arrived{};
  std::vector<std::uint64_t> superseded{};
  ShownList<kv_stream::CutOff, CutOffRow> cut_off{};
};
struct StreamerObject {
  RuntimeKeep runtime;
  std::unique_ptr<LockedStreamer> locked;
};
using StreamerTable = HandleTable<StreamerObject, Kind::streamer, kChunksOfStreamers>;

// Both are made empty: the handle comes first, so that nothing fails once something is posted.
struct HeldStreamOut {
  explicit HeldStreamOut(LockedStreamer& from) : of(from) {}
  ~HeldStreamOut() {
    const std::lock_guard guard(of.lock);
    out.reset();
  }
  HeldStreamOut(const HeldStreamOut&) = delete;
  HeldStreamOut& operator=(const HeldStreamOut&) = delete;
  LockedStreamer& of;
  std::optional<kv_stream::StreamOut> out{};
};
struct StreamOutObject {
  StreamerTable::Keep streamer;
  std::unique_ptr<HeldStreamOut> held;
};
using StreamOutTable = HandleTable<StreamOutObject, Kind::stream_out>;

struct HeldStreamIn {
  Mutex lock{};
  std::optional<kv_stream::StreamIn> in{};
};
struct StreamInObject {
  StreamerTable::Keep streamer;
  std::unique_ptr<HeldStreamIn> held;
};
using StreamInTable = HandleTable<StreamInObject, Kind::stream_in>;
static_assert(std::uint64_t{StreamOutTable::kMost} + StreamInTable::kMost <=
              HandleWord::kMostKeeps);

[[nodiscard]] StreamerTable& streamers() noexcept;
[[nodiscard]] StreamOutTable& stream_outs() noexcept;
[[nodiscard]] StreamInTable& stream_ins() noexcept;

// failed_precondition in `wanted`, aborted after an interruption.
[[nodiscard]] Result<void> check_may_call(const char* what, const LockedStreamer& locked);

// Runs use(locked) as the only call on the streamer. `what` names the call.
template <typename Use>
[[nodiscard]] Result<void> use_alone(const char* what, LockedStreamer& locked, Use&& use) {
  const std::lock_guard guard(locked.lock);
  AQUA_TRY(check_may_call(what, locked));
  try {
    return use(locked);
  } catch (...) {
    locked.interrupted = true;
    throw;
  }
}
template <typename Use>
[[nodiscard]] Result<void> use_streamer(const char* what, aqua_streamer handle, Use&& use) {
  AQUA_ASSIGN(const auto object, streamers().use(what, handle.id));
  return use_alone(what, *object->locked, use);
}

// Makes a stream of a streamer, for which `held` is there: fill(held) makes it, and its handle is
// written to *out. The handle comes first: once something is posted nothing may fail any more.
template <typename Object, typename Table, typename Held, typename Out, typename Fill>
[[nodiscard]] Result<void> insert_then(const char* what, Table& table,
                                       const StreamerTable::Use& streamer,
                                       std::unique_ptr<Held> held, Out* out, const Fill& fill) {
  AQUA_ASSIGN(const std::uint64_t id,
              table.insert(streamer->runtime.id(), Object{streamer.keep(), std::move(held)}));
  const auto end = [&] { (void)table.end(what, id); };
  try {
    AQUA_ASSIGN(const auto made, table.use(what, id));
    if (Result<void> filled = fill(*made->held); !filled.ok()) {
      end();
      return filled;
    }
  } catch (...) {
    end();
    throw;
  }
  out->id = id;
  return {};
}

}  // namespace aqua::capi
