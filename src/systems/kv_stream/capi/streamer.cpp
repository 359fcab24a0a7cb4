// SPDX-License-Identifier: Apache-2.0
// Streamers over the C ABI: one is opened over a keeper's segments, and sequences come to it.
#include <functional>
#include <memory>
#include <utility>

#include "capi/callbacks.hpp"
#include "capi/convert.hpp"
#include "capi/sized.hpp"
#include "systems/kv_stream/capi/objects.hpp"
#include "systems/kv_stream/capi/options.hpp"

namespace aqua::capi {
namespace {

aqua_streamer_status to_c(const kv_stream::StreamerStatus& streamer,
                          const SegmentCarrierStatus& carrier) noexcept {
  aqua_streamer_status c = AQUA_STREAMER_STATUS_INIT;
  c.refused = streamer.refused;
  c.giving = carrier.giving;
  c.taken = carrier.taken;
  c.ready = carrier.ready;
  c.connected = carrier.connected ? 1 : 0;
  copy_name(c.error, streamer.error);
  copy_name(c.keeper_error, carrier.error);
  c.arrived = streamer.arrived;
  c.cut_off = streamer.cut_off;
  return c;
}

// The engine is asked while one of these lives.
class InWanted {
 public:
  explicit InWanted(LockedStreamer& of) noexcept : of_(of) { of_.in_wanted = true; }
  ~InWanted() { of_.in_wanted = false; }
  InWanted(const InWanted&) = delete;
  InWanted& operator=(const InWanted&) = delete;

 private:
  LockedStreamer& of_;
  InCallback calling_{};
};

}  // namespace
}  // namespace aqua::capi

using namespace aqua::capi;
using aqua::Result;

extern "C" {

aqua_error* aqua_streamer_open(aqua_runtime runtime, aqua_layout layout,
                               const aqua_streamer_options* options, aqua_streamer* streamer) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_streamer_open";
    AQUA_CAPI_NOT_NULL(what, streamer);
    AQUA_ASSIGN(const auto used, runtimes().use(what, runtime.id));
    AQUA_ASSIGN(const auto described, layouts().use(what, layout.id));
    AQUA_ASSIGN(const auto wanted, to_options(options));
    auto locked = std::make_unique<LockedStreamer>(aqua::Layout(*described));
    AQUA_ASSIGN(auto carrier, aqua::SegmentCarrier::attach(*used, locked->layout, wanted.carrier));
    locked->carrier.emplace(std::move(carrier));
    AQUA_ASSIGN(auto made, aqua::kv_stream::Streamer::create(*locked->carrier, locked->layout,
                                                             wanted.streamer));
    locked->streamer.emplace(std::move(made));
    count_alive(Kind::streamer, [](std::uint64_t id) { return streamers().count(id); });
    count_alive(Kind::stream_out, [](std::uint64_t id) { return stream_outs().count(id); });
    count_alive(Kind::stream_in, [](std::uint64_t id) { return stream_ins().count(id); });
    AQUA_ASSIGN(streamer->id,
                streamers().insert(runtime.id, StreamerObject{used.keep(), std::move(locked)}));
    return {};
  });
}

aqua_error* aqua_streamer_free(aqua_streamer streamer) {
  return free_waiting("aqua_streamer_free", streamers(), streamer.id);
}

aqua_error* aqua_streamer_get_status(aqua_streamer streamer, aqua_streamer_status* status) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_streamer_get_status";
    AQUA_TRY(check_size(what, status));
    AQUA_ASSIGN(const auto object, streamers().use(what, streamer.id));
    LockedStreamer& locked = *object->locked;
    const std::lock_guard guard(locked.lock);
    give_out(to_c(locked.streamer->status(), locked.carrier->status()), status);
    return {};
  });
}

aqua_error* aqua_streamer_wait(aqua_streamer streamer, uint32_t patience_ms, int* news) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_streamer_wait";
    AQUA_CAPI_NOT_NULL(what, news);
    AQUA_ASSIGN(const auto object, streamers().use(what, streamer.id));
    // Waits on the carrier, which serves many threads: the streamer is others' meanwhile.
    *news = object->locked->carrier->wait(std::chrono::milliseconds(patience_ms)) ? 1 : 0;
    return {};
  });
}

aqua_error* aqua_streamer_admit(aqua_streamer streamer, const char* group, uint32_t sequences) {
  return call([&]() -> Result<void> {
    const std::string name = string_or_empty(group);
    return use_streamer("aqua_streamer_admit", streamer, [&](LockedStreamer& locked) {
      return locked.streamer->admit(name, sequences);
    });
  });
}

aqua_error* aqua_streamer_arrived(aqua_streamer streamer,
                                  int (*wanted)(void* user, uint64_t sequence), void* user,
                                  const aqua_arrived* const** arrived, size_t* count) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_streamer_arrived";
    AQUA_CAPI_NOT_NULL(what, arrived);
    AQUA_CAPI_NOT_NULL(what, count);
    return use_streamer(what, streamer, [&](LockedStreamer& locked) -> Result<void> {
      std::function<bool(std::uint64_t)> ask;
      if (wanted != nullptr) {
        ask = [&](std::uint64_t sequence) {
          const InWanted asking(locked);
          return wanted(user, sequence) != 0;
        };
      }
      locked.arrived.show([&] { return locked.streamer->arrived(ask); }, arrived, count);
      return {};
    });
  });
}

aqua_error* aqua_streamer_finish(aqua_streamer streamer, uint64_t sequence, aqua_stream stream,
                                 int* arrived) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_streamer_finish";
    AQUA_CAPI_NOT_NULL(what, arrived);
    return use_streamer(what, streamer, [&](LockedStreamer& locked) -> Result<void> {
      AQUA_ASSIGN(const bool told, locked.streamer->finish(sequence, to_stream(stream)));
      *arrived = told ? 1 : 0;
      return {};
    });
  });
}

aqua_error* aqua_streamer_superseded(aqua_streamer streamer, const uint64_t** sequences,
                                     size_t* count) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_streamer_superseded";
    AQUA_CAPI_NOT_NULL(what, sequences);
    AQUA_CAPI_NOT_NULL(what, count);
    return use_streamer(what, streamer, [&](LockedStreamer& locked) -> Result<void> {
      locked.superseded = locked.streamer->superseded();
      *sequences = locked.superseded.data();
      *count = locked.superseded.size();
      return {};
    });
  });
}

aqua_error* aqua_streamer_cut_off(aqua_streamer streamer, const aqua_cut_off* const** attempts,
                                  size_t* count) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_streamer_cut_off";
    AQUA_CAPI_NOT_NULL(what, attempts);
    AQUA_CAPI_NOT_NULL(what, count);
    return use_streamer(what, streamer, [&](LockedStreamer& locked) -> Result<void> {
      locked.cut_off.show([&] { return locked.streamer->cut_off(); }, attempts, count);
      return {};
    });
  });
}

}  // extern "C"
