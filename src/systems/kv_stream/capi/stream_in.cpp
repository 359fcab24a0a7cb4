// SPDX-License-Identifier: Apache-2.0
// Sequences whose bytes come into blocks of this process, over the C ABI.
#include <memory>
#include <utility>

#include "capi/callbacks.hpp"
#include "capi/convert.hpp"
#include "systems/kv_stream/capi/objects.hpp"

namespace aqua::capi {
namespace {

// Runs use(in) as the only call on it.
template <typename Use>
Result<void> use_stream_in(const char* what, aqua_stream_in handle, Use&& use) {
  AQUA_ASSIGN(const auto object, stream_ins().use(what, handle.id));
  HeldStreamIn& held = *object->held;
  const MutexLock guard(held.lock);
  if (!held.in) return bad_handle(what, Kind::stream_in, handle.id);  // it was not made
  return use(*held.in);
}

}  // namespace
}  // namespace aqua::capi

using namespace aqua::capi;
using aqua::Result;
using aqua::kv_stream::StreamIn;

extern "C" {

aqua_error* aqua_streamer_stream_in(aqua_streamer streamer, uint64_t sequence,
                                    const uint32_t* blocks, size_t block_count, aqua_stream stream,
                                    aqua_stream_in* in) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_streamer_stream_in";
    AQUA_CAPI_NOT_NULL(what, in);
    AQUA_ASSIGN(const auto object, streamers().use(what, streamer.id));
    LockedStreamer& locked = *object->locked;
    AQUA_ASSIGN(const auto into, to_block_list(what, locked.layout, blocks, block_count));
    return insert_then<StreamInObject>(
        what, stream_ins(), object, std::make_unique<HeldStreamIn>(), in, [&](HeldStreamIn& held) {
          return use_alone(what, locked, [&](LockedStreamer& of) -> Result<void> {
            AQUA_ASSIGN(auto made, of.streamer->stream_in(sequence, into, to_stream(stream)));
            const aqua::MutexLock guard(held.lock);
            held.in.emplace(std::move(made));
            return {};
          });
        });
  });
}

aqua_error* aqua_stream_in_done(aqua_stream_in in, int* done) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_stream_in_done";
    AQUA_CAPI_NOT_NULL(what, done);
    return use_stream_in(what, in, [&](StreamIn& asked) -> Result<void> {
      AQUA_ASSIGN(const bool over, asked.done());
      *done = over ? 1 : 0;
      return {};
    });
  });
}

aqua_error* aqua_stream_in_wait(aqua_stream_in in) {
  return call([&] {
    return use_stream_in("aqua_stream_in_wait", in, [](StreamIn& asked) { return asked.wait(); });
  });
}

aqua_error* aqua_stream_in_layer_done(aqua_stream_in in, uint32_t layer, int* done) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_stream_in_layer_done";
    AQUA_CAPI_NOT_NULL(what, done);
    return use_stream_in(what, in, [&](const StreamIn& asked) -> Result<void> {
      AQUA_ASSIGN(const bool over, asked.layer_done(layer));
      *done = over ? 1 : 0;
      return {};
    });
  });
}

aqua_error* aqua_stream_in_stream_wait(aqua_stream_in in, aqua_stream stream, uint32_t layer) {
  return call([&] {
    return use_stream_in("aqua_stream_in_stream_wait", in, [&](const StreamIn& asked) {
      return asked.stream_wait(to_stream(stream), layer);
    });
  });
}

aqua_error* aqua_stream_in_free(aqua_stream_in in) {
  return free_waiting("aqua_stream_in_free", stream_ins(), in.id);
}

}  // extern "C"
