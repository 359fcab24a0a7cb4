// SPDX-License-Identifier: Apache-2.0
// SegmentGiver is a SegmentCarrier's giving half: each parcel has a segment, into which its fills
// are gathered one after another, on a stream of its own: an engine's kernels go on beside them.
// Closing it commits the segment for the parcel, and once that is the keeper's the parcel is closed
// there: whoever dies in between, both of them exist or neither.
//
// Threads: every method may be called concurrently. None blocks but await_copies().
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aqua/handoff/carrier.hpp"
#include "aqua/handoff/segments.hpp"
#include "aqua/kv_range.hpp"
#include "aqua/side_stream.hpp"
#include "aqua/stream_mark.hpp"
#include "base/mutex.hpp"
#include "handoff/pool_member.hpp"
#include "handoff/segment_member.hpp"
#include "parcel/fill_table.hpp"

namespace aqua {

class SegmentGiver {
 public:
  // All of them outlive it. Segments are taken with this many bytes.
  SegmentGiver(Runtime& runtime, const Layout& layout, PoolMember& parcels, SegmentMember& segments,
               std::size_t segment_bytes)
      : runtime_(runtime),
        layout_(layout),
        parcels_(parcels),
        segments_(segments),
        segment_bytes_(segment_bytes) {}

  // As SegmentCarrier's.
  [[nodiscard]] Result<std::uint64_t> open(const ParcelHead& head, const std::string& role);
  [[nodiscard]] Result<ParcelState> state(std::uint64_t number);
  [[nodiscard]] Result<Ticket> fill(std::uint64_t number, const KvRange& range, BlockList from,
                                    Stream stream);
  [[nodiscard]] Result<void> close(std::uint64_t number, std::uint32_t tokens, std::string note,
                                   Stream stream);
  [[nodiscard]] Result<void> recall(std::uint64_t number) { return parcels_.recall(number); }
  [[nodiscard]] std::vector<Delivery> deliveries();
  [[nodiscard]] std::size_t giving() const;

  // Blocks until nothing is gathered any more.
  void await_copies();

  // Segments have been committed: closes their parcels. What failed deliveries() tells.
  void committed();

 private:
  struct Given {
    std::string id{};
    std::optional<Segment> segment{};
    std::vector<Fill> fills{};
    std::set<KvRange> ranges{};  // of the fills
    std::size_t bytes = 0;       // of the fills
    // For each stream that a fill was behind, where it was then.
    std::map<Stream, SegmentMember::Gathered> behind{};
    // From close() on.
    bool closing = false;
    std::uint32_t tokens = 0;
    std::string note{};
    std::optional<StreamMark> reached{};  // that its segment's commit has waited for
  };

  // The parcel that can be filled, and the keeper's number of it.
  struct Open {
    Given& given;
    std::uint64_t at_keeper = 0;
  };
  [[nodiscard]] Result<Open> find_open(const char* call, std::uint64_t number) AQUA_REQUIRES(mu_);
  void close_parcel(std::uint64_t segment) AQUA_REQUIRES(mu_);
  // A parcel has ended: its segment is for another one, unless the keeper has it.
  void drop(std::uint64_t number) AQUA_REQUIRES(mu_);
  void give_back(std::uint64_t segment);

  Runtime& runtime_;
  const Layout& layout_;
  PoolMember& parcels_;
  SegmentMember& segments_;
  const std::size_t segment_bytes_;

  mutable Mutex mu_;
  std::optional<SideStream> copies_ AQUA_GUARDED_BY(mu_);  // from the first fill on
  std::map<std::uint64_t, Given> given_ AQUA_GUARDED_BY(mu_);
  std::map<std::uint64_t, std::uint64_t> committing_ AQUA_GUARDED_BY(mu_);  // segment, parcel
  // Parcels that failed, which was told: the keeper's last word on them is not.
  std::set<std::uint64_t> failed_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua
