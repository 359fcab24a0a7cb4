// SPDX-License-Identifier: Apache-2.0
// SegmentCarrier carries parcels between processes of one server and user whose caches are their
// own: the giver gathers into memory that the keeper has (aqua/handoff/segments.hpp), the taker
// maps the same memory and scatters out of it. Between two caches the bytes are copied twice, and
// never in between.
//
//   auto decode = aqua::SegmentCarrier::attach(
//       *rt, layout, {.name = "smollm2", .role = "decode", .ready = 0});  // a keeper runs
//   auto admitted = decode->admit("prefill", 4);  // room for four
//
//   auto prefill = aqua::SegmentCarrier::attach(  // in another process
//       *rt, layout, {.name = "smollm2", .role = "prefill"});
//   const auto number = prefill->open({.id = "request 7", .turn = 1}, "decode");
//   while (*prefill->state(*number) == aqua::ParcelState::reserved &&
//          prefill->wait(std::chrono::seconds(5)));
//   auto copies = prefill->fill(*number, {}, blocks, stream);  // behind the kernels
//   auto closed = prefill->close(*number, {}, 120, "pending token", stream);
//
//   std::vector<aqua::Parcel> parcels;  // in decode's
//   do parcels = decode->accept(4);
//   while (parcels.empty() && decode->wait(std::chrono::seconds(5)));
//   auto landed = decode->land(parcels.front().number, {}, own_blocks, {}, own_stream);
//
// A parcel that is closed outlives its giver, however that ends; its memory goes with it, when its
// taker has finished it. Whoever takes it reads what was committed, and its giver is trusted not to
// write it afterwards, as a process of the same user.
//
// A parcel has one segment, kept ready ahead of need: it is open once a taker has promised room,
// and a segment is at hand here.
//
// If the keeper dies, what was on its way is gone (Delivery::Outcome::in_doubt), and nothing is
// carried any more: attach anew. What has landed stays.
//
// Threads: every method may be called concurrently. None waits for a stream, a socket or another
//          process, but attach(), wait() and the destructor. Four threads of its own do.
// Fork:    a child must not use it.
// Owns:    mappings of segments. The layout outlives it. Must be gone before its runtime, and no
//          work may be in flight on the segments then, but what close() and finish() wait for.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "aqua/export.h"
#include "aqua/handoff/carrier.hpp"
#include "aqua/layout.hpp"
#include "aqua/result.hpp"

namespace aqua {

class Runtime;

struct SegmentCarrierOptions {
  std::string name{};  // of those who hand over among each other: 1 to 128 bytes of printable ASCII
  std::string role{};  // what parcels are handed to: "prefill", "decode", …
  // Bytes of the largest parcel: what it takes that is filled. 1,024 ranges have room beside it,
  // and each one more, of at most 65,536, takes 40 bytes of it.
  std::size_t parcel_bytes = std::size_t{64} << 20;
  // Segments to have here ahead of need. Twice as many are kept, more are given back; and as many
  // of others' stay mapped after they were read. Who only takes needs none.
  std::uint32_t ready = 2;
  std::string keeper{};  // path of its socket. Empty: $AQUA_KEEPER, else this user's own
};

struct SegmentCarrierStatus {
  bool connected = true;   // to the keeper. Once false it stays so
  std::string error{};     // why not, or what the keeper refused last and has not granted since
  std::size_t giving = 0;  // parcels that were opened, and not delivered
  std::size_t taken = 0;   // parcels accepted, and not finished
  std::size_t ready = 0;   // segments at hand for parcels to be opened
};

class AQUA_API SegmentCarrier final : public Carrier {
 public:
  // Blocks for the keeper, and until `ready` segments are mapped.
  //   invalid_argument     an option cannot be
  //   failed_precondition  a KV pool has the name
  //   as Segments::open()
  [[nodiscard]] static Result<SegmentCarrier> attach(Runtime& runtime, const Layout& layout,
                                                     const SegmentCarrierOptions& options);
  // One that was moved from may only be assigned to or destroyed.
  SegmentCarrier(SegmentCarrier&&) noexcept;
  SegmentCarrier& operator=(SegmentCarrier&&) noexcept;
  // Blocks until what was posted so far has ended, and what was closed is the keeper's. Parcels
  // that were not finished wait for the next of this role.
  ~SegmentCarrier() override;

  // As Carrier's. fill() gathers on a stream of the carrier's own, beside what is posted to
  // `stream` afterwards and behind all that this carrier has gathered before; wait() returns, too,
  // once what was closed or recalled is gathered. A range is filled once (invalid_argument). Of a
  // parcel whose segment cannot be mapped here land() says why (resource_exhausted), and it is
  // tried again: unavailable, as long as that takes.
  [[nodiscard]] Result<std::uint64_t> open(const ParcelHead& head,
                                           const std::string& role) override;
  [[nodiscard]] Result<ParcelState> state(std::uint64_t number) const override;
  [[nodiscard]] Result<Ticket> fill(std::uint64_t number, const KvRange& range, BlockList from,
                                    Stream stream) override;
  [[nodiscard]] Result<void> close(std::uint64_t number, BlockList blocks, std::uint32_t tokens,
                                   std::string note, Stream stream) override;
  [[nodiscard]] Result<void> recall(std::uint64_t number) override;
  [[nodiscard]] std::vector<Delivery> deliveries() override;
  [[nodiscard]] Result<void> admit(const std::string& from, std::uint32_t parcels) override;
  [[nodiscard]] std::vector<Parcel> accept(std::size_t most) override;
  [[nodiscard]] Result<Ticket> land(std::uint64_t number, const KvRange& filled, BlockList into,
                                    const KvRange& at, Stream stream) override;
  [[nodiscard]] Result<void> check_landable(std::uint64_t number, const KvRange& filled,
                                            BlockList into, const KvRange& at) override;
  [[nodiscard]] Result<void> confirm(std::uint64_t number) override;
  [[nodiscard]] Result<void> finish(std::uint64_t number, Stream stream) override;
  [[nodiscard]] Result<void> decline(std::uint64_t number, Stream stream) override;
  [[nodiscard]] Result<void> decline(std::uint64_t number) override;
  [[nodiscard]] std::vector<std::uint64_t> superseded() override;
  [[nodiscard]] std::vector<ParcelHead> cut_off() override;
  [[nodiscard]] bool wait(std::chrono::milliseconds patience) override;
  [[nodiscard]] bool is_connected() const override;
  [[nodiscard]] SegmentCarrierStatus status() const;

 private:
  struct AQUA_LOCAL Parts;
  explicit SegmentCarrier(std::unique_ptr<Parts> parts) noexcept;
  std::unique_ptr<Parts> parts_;
};

}  // namespace aqua
