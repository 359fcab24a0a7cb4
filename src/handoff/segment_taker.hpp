// SPDX-License-Identifier: Apache-2.0
// SegmentTaker is a SegmentCarrier's taking half: parcels that this process has accepted, whose
// segments are mapped before anybody is told of them.
//
// Threads: every method may be called concurrently. None blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aqua/handoff/carrier.hpp"
#include "aqua/handoff/segments.hpp"
#include "aqua/stream_mark.hpp"
#include "base/mutex.hpp"
#include "handoff/pool_member.hpp"
#include "handoff/segment_member.hpp"
#include "parcel/fill_table.hpp"

namespace aqua {

class SegmentTaker {
 public:
  // All of them outlive it.
  SegmentTaker(Runtime& runtime, const Layout& layout, PoolMember& parcels, SegmentMember& segments)
      : runtime_(runtime), layout_(layout), parcels_(parcels), segments_(segments) {}

  // As SegmentCarrier's.
  [[nodiscard]] std::vector<Parcel> accept(std::size_t most);
  [[nodiscard]] Result<Ticket> land(std::uint64_t number, const KvRange& filled, BlockList into,
                                    const KvRange& at, Stream stream);
  [[nodiscard]] Result<void> check_landable(std::uint64_t number, const KvRange& filled,
                                            BlockList into, const KvRange& at);
  [[nodiscard]] Result<void> confirm(std::uint64_t number);
  // `what` its giver is told. Without a stream: as decline() without one.
  [[nodiscard]] Result<void> finish(std::uint64_t number, std::optional<Stream> stream,
                                    ParcelEvent what = ParcelEvent::confirmed);
  [[nodiscard]] std::vector<std::uint64_t> superseded();
  [[nodiscard]] std::size_t taken() const;

 private:
  struct Taken {
    Parcel parcel{};
    bool told = false;        // by accept()
    bool superseded = false;  // nobody is to begin it any more
    bool reading = false;     // its segment is being opened
    bool opened = false;
    std::map<KvRange, Fill> fills{};
    std::optional<Error> error{};  // why it cannot be read
  };

  [[nodiscard]] Result<Taken*> find_told(const char* call, std::uint64_t number) AQUA_REQUIRES(mu_);
  // A parcel whose segment is mapped.
  [[nodiscard]] Result<Taken*> find_landable(std::uint64_t number) AQUA_REQUIRES(mu_);
  // What was filled so of a parcel whose segment is mapped, and where that segment is.
  struct Landable {
    Fill fill{};
    std::uint64_t segment = 0;
  };
  // As land() of so many blocks, but that nothing lands.
  [[nodiscard]] Result<Landable> find_fill(std::uint64_t number, const KvRange& filled,
                                           std::size_t blocks, const KvRange& at)
      AQUA_REQUIRES(mu_);
  void hear() AQUA_REQUIRES(mu_);
  // Lets go of those that ended when this process handed their requests on.
  void drop_continued() AQUA_REQUIRES(mu_);
  // Finishes those that were superseded before accept() has told of them.
  void drop_superseded() AQUA_REQUIRES(mu_);
  void hear(const OpenedSegment& opened) AQUA_REQUIRES(mu_);
  void begin(Taken& taken) AQUA_REQUIRES(mu_);
  // Nobody here reads it any more, once a mark is reached.
  void close(std::uint64_t segment, StreamMark mark);

  Runtime& runtime_;
  const Layout& layout_;
  PoolMember& parcels_;
  SegmentMember& segments_;

  mutable Mutex mu_;
  std::map<std::uint64_t, Taken> taken_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua
