// SPDX-License-Identifier: Apache-2.0
// Segments are host memory that a keeper has, into which an engine gathers blocks of its cache and
// which it then commits: what is committed outlives the engine, however it ends. Another process of
// the same user maps the same memory and scatters out of it.
//
//   auto ours = aqua::Segments::open(*rt);  // a keeper runs
//   const std::size_t bytes = layout.packed_bytes(blocks.size());
//   auto segment = ours->take(bytes);  // local: asks nobody
//   auto gathered = ours->gather(segment->number, 0, layout, blocks, stream);
//   auto posted = ours->commit(segment->number, bytes, stream);
//   std::vector<aqua::CommittedSegment> done;
//   do done = ours->committed();
//   while (done.empty() && ours->wait(std::chrono::seconds(5)));
//   const aqua::SegmentName name = done.front().name;  // goes to another process by any message
//
//   auto theirs = aqua::Segments::open(*rt);  // there
//   auto asked = theirs->read(name);
//   std::vector<aqua::OpenedSegment> there;
//   do there = theirs->opened();
//   while (there.empty() && theirs->wait(std::chrono::seconds(5)));
//   auto scattered = theirs->scatter(name.number, 0, layout, other_blocks, stream);
//   auto closed = theirs->close(name.number, stream, aqua::SegmentAfter::drop);
//
// Segments are reserved, mapped and page-locked ahead of need, on a thread of the library's, and
// come back to who wrote them once they are dropped and nobody reads them: then nothing of this is
// done again. They never come to anybody else: each begins as new memory, filled with zeroes.
//
// Who reads a segment trusts its writer, a process of the same user, not to write it after it was
// committed; digests tell (SegmentsOptions::digest). Sizes and places the reader's kernel checks.
//
// If the keeper dies, all segments end with it: what is mapped stays so until it is let go of, but
// nothing is committed or opened any more (status().connected). Open anew to get on. A keeper that
// has a disk offers what was on it again, under the same names (SegmentStatus::on_disk).
//
// Threads: every method may be called concurrently. None waits for a stream, a socket or another
//          process, but open(), wait() and the destructor. Two threads of its own do.
// Fork:    a child must not use it.
// Owns:    mappings of segments, and addresses. Must be gone before its runtime, and no work of the
//          engine's own may be in flight on them then, but what release(), commit() and close()
//          wait for. The destructor waits for copies by gather() and scatter().
// Units:   bytes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aqua/export.h"
#include "aqua/handoff/segment.hpp"
#include "aqua/kv_range.hpp"
#include "aqua/layout.hpp"
#include "aqua/result.hpp"
#include "aqua/ticket.hpp"
#include "aqua/types.hpp"

namespace aqua {

class Runtime;

struct SegmentsOptions {
  // Size of a segment that is kept ready. A larger one is reserved when it is first asked for.
  std::size_t segment_bytes = std::size_t{64} << 20;
  // Segments to have here ahead of need. Twice as many are kept, more are given back; and as many
  // of others' stay mapped after they were read.
  std::uint32_t ready = 2;
  // Whether a digest of what is committed goes into its name: it costs reading it once.
  bool digest = false;
  std::string keeper{};  // path of its socket. Empty: $AQUA_KEEPER, else this user's own
};

// A segment as this process has it mapped.
struct Segment {
  std::uint64_t number = 0;
  std::byte* address = nullptr;  // of a segment that is read: not to be written
  std::size_t bytes = 0;
  bool locked = false;  // copies of the device are as fast as they can be
};

// What became of commit().
struct CommittedSegment {
  SegmentName name{};
  // Where work before it on its stream, or a gather() into it, failed (data_loss) or was cancelled
  // (cancelled), or the device could not tell, the segment is this process's still, to fill again
  // or to release(). Where the keeper refused or is away it is gone, and release() says not_found.
  std::optional<Error> error{};
};

// What became of read(). not_found and aborted: what is named was dropped meanwhile, or never was.
struct OpenedSegment {
  SegmentName name{};
  Segment segment{};
  std::optional<Error> error{};
};

// What becomes of what was read.
enum class SegmentAfter : std::uint8_t {
  keep,  // it can be read again
  // As keep. If it is a copy of another server's segment, it is this server's own from now on: it
  // stays when its original is dropped, until it is dropped here by name.
  adopt,
  // It has arrived, and is needed no more. Where work before it on its stream failed it has not: it
  // is kept, and status().error says so.
  drop,
};

struct SegmentsStatus {
  bool connected = true;     // to the keeper. Once false it stays so
  std::string error{};       // why not, or what the keeper refused last and has not granted since
  std::uint64_t keeper = 0;  // tells this keeper from those that ran at its socket before and after
  std::size_t ready = 0;     // that take() has at hand
  std::size_t taken = 0;     // by take(), and not committed
  std::size_t kept = 0;      // committed, and not yet come back
  std::size_t reading = 0;   // opened, and not closed
  std::size_t mapped_bytes = 0;
};

class AQUA_API Segments {
 public:
  // Blocks for the keeper, and until `ready` segments are mapped. Where the keeper has no room for
  // them, up to five seconds until it has: memory that was given up may still be being freed.
  //   invalid_argument    no segment_bytes
  //   unavailable         no keeper listens, or it does not answer
  //   permission_denied   the keeper is another user's
  //   resource_exhausted  the keeper, or the server, has no room for them; or no thread more can be
  //                       started
  [[nodiscard]] static Result<Segments> open(Runtime& runtime, const SegmentsOptions& options = {});
  // One that was moved from may only be assigned to or destroyed.
  Segments(Segments&&) noexcept;
  Segments& operator=(Segments&&) noexcept;
  // Blocks until what was posted so far has ended, and what was committed is the keeper's; unmaps
  // all. What was not committed is gone. Where the device cannot tell whether a copy has ended, as
  // while a graph is captured, it blocks until it can.
  ~Segments();

  // --- writing ----------------------------------------------------------------------------
  // A segment of at least so many bytes, of undefined content, for this process to fill: by
  // gather(), by its threads, or by work of the device.
  //   resource_exhausted  none is ready; it is asked for in the background: wait() and try again
  //   unavailable         the keeper is away
  [[nodiscard]] Result<Segment> take(std::size_t bytes);
  // As HostMemory::gather(). not_found: it was not taken.
  [[nodiscard]] Result<Ticket> gather(std::uint64_t number, std::size_t offset,
                                      const Layout& layout, BlockList blocks, Stream stream);
  [[nodiscard]] Result<Ticket> gather(std::uint64_t number, std::size_t offset,
                                      const Layout& layout, BlockList blocks, const KvRange& range,
                                      Stream stream);
  // A segment that was taken is not needed after all, once the work posted to `stream` so far has
  // ended.
  //   not_found            it was not taken
  //   invalid_argument, failed_precondition   the stream, as StreamMark::set()
  [[nodiscard]] Result<void> release(std::uint64_t number, Stream stream);
  // The same of a segment that no other work has touched than that of gather(), which is waited for
  // whatever its stream. No stream is named, so that none can be refused.
  [[nodiscard]] Result<void> release(std::uint64_t number);
  // Commits the first bytes of a segment that was taken, once the work posted to `stream` so far
  // has ended. From now on nobody may write it. committed() tells the outcome.
  //   invalid_argument     it has fewer bytes; or as release()
  //   not_found, failed_precondition   as release()
  [[nodiscard]] Result<void> commit(std::uint64_t number, std::size_t bytes, Stream stream);
  [[nodiscard]] std::vector<CommittedSegment> committed();  // since the last call

  // --- reading ----------------------------------------------------------------------------
  // Maps what is named; opened() tells when it is there. already_exists: it is read here;
  // unavailable: the keeper is away.
  [[nodiscard]] Result<void> read(const SegmentName& name);
  [[nodiscard]] std::vector<OpenedSegment> opened();  // since the last call
  // As HostMemory::scatter(). not_found: it is not opened.
  [[nodiscard]] Result<Ticket> scatter(std::uint64_t number, std::size_t offset,
                                       const Layout& layout, BlockList blocks, Stream stream);
  [[nodiscard]] Result<Ticket> scatter(std::uint64_t number, std::size_t offset,
                                       const Layout& layout, BlockList blocks, const KvRange& range,
                                       Stream stream);
  // Whether the bytes are those of the name's digest; reads them all, on this thread. not_found: it
  // is not opened; failed_precondition: its writer said no digest.
  [[nodiscard]] Result<bool> verify(std::uint64_t number) const;
  // This process reads it no more, once the work posted to `stream` so far has ended. Errors: as
  // release()'s, for one that is not opened.
  [[nodiscard]] Result<void> close(std::uint64_t number, Stream stream, SegmentAfter after);
  // The same of a segment that no other work has read than that of scatter(), as release() above.
  [[nodiscard]] Result<void> close(std::uint64_t number, SegmentAfter after);
  // Drops what is named without reading it. What cannot be dropped status().error tells.
  // unavailable: the keeper is away.
  [[nodiscard]] Result<void> drop(const SegmentName& name);

  // Blocks until there is news for this process since the last call: a segment that is ready,
  // committed or opened, or the keeper's end. False: none came within `patience`.
  [[nodiscard]] bool wait(std::chrono::milliseconds patience);
  [[nodiscard]] SegmentsStatus status() const;

 private:
  struct AQUA_LOCAL Parts;
  explicit Segments(std::unique_ptr<Parts> parts) noexcept;
  std::unique_ptr<Parts> parts_;
};

// What a keeper keeps, by number. `keeper`: as SegmentsOptions::keeper. Errors: unavailable and
// permission_denied as Segments::open(). Blocks for the keeper's answer, as drop_segment() does.
[[nodiscard]] AQUA_API Result<std::vector<SegmentStatus>> list_segments(
    const std::string& keeper = {});
// What the keeper has on a disk (aqua-keeper --disk). Errors: as list_segments().
[[nodiscard]] AQUA_API Result<SegmentDisk> segment_disk(const std::string& keeper = {});
// Drops what nobody will ever read: of a request that was cancelled, say.
//   not_found            there is no such segment, or nothing in it is kept
//   aborted              another generation of it is kept
//   failed_precondition  it goes with a parcel
[[nodiscard]] AQUA_API Result<void> drop_segment(std::uint64_t number, std::uint64_t generation,
                                                 const std::string& keeper = {});

}  // namespace aqua
