// SPDX-License-Identifier: Apache-2.0
// SegmentCarrier carries streams between processes of a server, in a keeper's segments: a parcel's
// bytes lie in one (aqua::Segments), and what is said of it goes as a parcel without blocks from
// role to role (aqua::KvPool, whose memory is not used). What is closed outlives its giver; a
// receiver maps the same memory. Room and receipts are parcels of the same kind, in the other
// direction.
//
// Threads: one. Errors: what the library says; Failure at the start.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aqua/handoff/kv_pool.hpp"
#include "aqua/handoff/segments.hpp"
#include "aqua/kv_stream/stream_carrier.hpp"
#include "stream/fill_table.hpp"

namespace aqua::pipeline {

struct SegmentCarrierOptions {
  std::string role{};    // of this process
  std::string keeper{};  // its socket
  // What the largest parcel takes, of all the fills that it has.
  std::size_t parcel_bytes = std::size_t{1} << 20;
};

class SegmentCarrier : public kv_stream::StreamCarrier {
 public:
  SegmentCarrier(Runtime& runtime, const Layout& layout, const SegmentCarrierOptions& options);

  Result<std::uint64_t> open(const std::string& id, std::uint64_t turn, const std::string& role,
                             bool has_room) override;
  Result<kv_stream::Carried> state(std::uint64_t number) override;
  Result<void> fill(std::uint64_t number, const KvRange& range, BlockList blocks,
                    Stream stream) override;
  Result<void> close(std::uint64_t number, std::uint32_t tokens, const std::string& note,
                     Stream stream) override;
  Result<void> recall(std::uint64_t number) override;
  void forget(std::uint64_t number) override;

  Result<void> admit(const std::string& from, std::uint32_t parcels) override;
  std::vector<kv_stream::CarriedParcel> accept() override;
  Result<Ticket> land(std::uint64_t number, const KvRange& filled, BlockList into,
                      const KvRange& at, Stream stream) override;
  Result<void> confirm(std::uint64_t number) override;
  Result<void> finish(std::uint64_t number, Stream stream) override;
  // The pool gives a parcel of a higher turn in place of one that waits, and tells nothing of those
  // that were taken: an attempt that begins anew is seen once it has come.
  std::vector<std::uint64_t> superseded() override { return {}; }
  bool wait(std::chrono::milliseconds patience) override;

 private:
  // On its way out.
  struct Given {
    Parcel parcel{};
    std::string role{};
    std::optional<Segment> segment{};
    bool has_room = false;   // needs none of its own
    std::uint64_t room = 0;  // the parcel that promises it; 0: none
    std::vector<Fill> fills{};
    std::size_t bytes = 0;  // of the fills
    kv_stream::Carried state = kv_stream::Carried::reserved;
    std::optional<Error> error{};
    bool closing = false, forgotten = false;
  };
  // Accepted from the pool.
  struct Taken {
    Parcel parcel{};
    std::string from{};  // the giver's role
    SegmentName segment{};
    std::vector<Fill> fills{};
  };

  void settle();
  void take_parcel(Parcel parcel);
  void open_reserved();
  void hear_of_segments();
  [[nodiscard]] Result<Given*> given(std::uint64_t number);
  [[nodiscard]] Result<Taken*> taken(std::uint64_t number);

  const Layout& layout_;
  const SegmentCarrierOptions options_;
  KvPool pool_;
  Segments segments_;
  std::map<std::uint64_t, Given> given_{};
  std::map<std::uint64_t, std::uint64_t> committing_{};      // segment, parcel
  std::map<std::string, std::deque<std::uint64_t>> room_{};  // parcels that promise it, by role
  std::map<std::uint64_t, Taken> taken_{};
  std::map<std::uint64_t, std::uint64_t> opening_{};  // segment, parcel
  std::vector<std::uint64_t> come_{};                 // opened, and not yet told by accept()
  std::uint64_t last_ = 0, last_room_ = 0;
  bool wants_segment_ = false;  // there is room at a receiver
};

}  // namespace aqua::pipeline
