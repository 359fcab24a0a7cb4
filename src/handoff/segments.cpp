// SPDX-License-Identifier: Apache-2.0
#include "aqua/handoff/segments.hpp"

#include <utility>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/fork_guard.hpp"
#include "base/internals.hpp"
#include "base/try.hpp"
#include "base/xxh3.hpp"
#include "handoff/segment_member.hpp"

namespace aqua {
namespace {

Result<void> check_read(const SegmentName& name, std::size_t offset, std::size_t bytes) {
  if (offset <= name.bytes && bytes <= name.bytes - offset) return {};
  return Error{Code::invalid_argument,
               concat("segments: scatter: ", bytes, " bytes at ", offset, " of segment ",
                      name.number, ", of which ", name.bytes, " are committed")};
}

}  // namespace

struct Segments::Parts {
  explicit Parts(Runtime& of) : runtime(detail::Internals::view(of)) {}
  ~Parts() {
    if (member == nullptr) return;
    if (born != fork_generation()) {
      // A forked child has none of the threads, nor the mappings, and must not speak for its
      // parent.
      (void)member.release();
      return;
    }
    member->stop();
    member->leave();
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  Runtime runtime;  // a view, which stays good when the runtime is moved
  std::unique_ptr<SegmentMember> member;
  const std::uint64_t born = fork_generation();
};

Segments::Segments(std::unique_ptr<Parts> parts) noexcept : parts_(std::move(parts)) {}
Segments::Segments(Segments&&) noexcept = default;
Segments& Segments::operator=(Segments&&) noexcept = default;
Segments::~Segments() = default;

Result<Segments> Segments::open(Runtime& runtime, const SegmentsOptions& options) {
  if (options.segment_bytes == 0) {
    return Error{Code::invalid_argument, "segments: open: segment_bytes is 0"};
  }
  auto parts = std::make_unique<Parts>(runtime);
  AQUA_ASSIGN(parts->member, with_threads("segments", [&] {
                return SegmentMember::open(parts->runtime, options, {});
              }));
  return Segments(std::move(parts));
}

Result<Segment> Segments::take(std::size_t bytes) {
  return parts_->member->take(bytes);
}

Result<Ticket> Segments::gather(std::uint64_t number, std::size_t offset, const Layout& layout,
                                BlockList blocks, Stream stream) {
  AQUA_ASSIGN(const auto memory, parts_->member->taken(number));
  return memory->gather(layout, blocks, offset, stream);
}

Result<Ticket> Segments::gather(std::uint64_t number, std::size_t offset, const Layout& layout,
                                BlockList blocks, const KvRange& range, Stream stream) {
  AQUA_ASSIGN(const auto memory, parts_->member->taken(number));
  return memory->gather(layout, blocks, range, offset, stream);
}

Result<void> Segments::release(std::uint64_t number, Stream stream) {
  AQUA_ASSIGN(StreamMark mark, StreamMark::create(parts_->runtime, stream));
  return parts_->member->release(number, std::move(mark));
}

Result<void> Segments::release(std::uint64_t number) {
  AQUA_ASSIGN(StreamMark mark, StreamMark::create(parts_->runtime));
  return parts_->member->release(number, std::move(mark));
}

Result<void> Segments::commit(std::uint64_t number, std::size_t bytes, Stream stream) {
  AQUA_ASSIGN(StreamMark mark, StreamMark::create(parts_->runtime, stream));
  return parts_->member->commit(number, bytes, std::move(mark));
}

std::vector<CommittedSegment> Segments::committed() {
  return parts_->member->committed();
}

Result<void> Segments::read(const SegmentName& name) {
  return parts_->member->read(name);
}

std::vector<OpenedSegment> Segments::opened() {
  return parts_->member->opened();
}

Result<Ticket> Segments::scatter(std::uint64_t number, std::size_t offset, const Layout& layout,
                                 BlockList blocks, Stream stream) {
  AQUA_ASSIGN(const auto read, parts_->member->opened(number));
  AQUA_TRY(check_read(read.name, offset, layout.packed_bytes(blocks.size())));
  return read.memory->scatter(offset, layout, blocks, stream);
}

Result<Ticket> Segments::scatter(std::uint64_t number, std::size_t offset, const Layout& layout,
                                 BlockList blocks, const KvRange& range, Stream stream) {
  AQUA_ASSIGN(const auto read, parts_->member->opened(number));
  AQUA_ASSIGN(const std::size_t bytes, layout.packed_bytes(blocks.size(), range));
  AQUA_TRY(check_read(read.name, offset, bytes));
  return read.memory->scatter(offset, layout, blocks, range, stream);
}

Result<bool> Segments::verify(std::uint64_t number) const {
  AQUA_ASSIGN(const auto read, parts_->member->opened(number));
  if (read.name.digest == SegmentDigest{}) {
    return Error{Code::failed_precondition,
                 concat("segments: verify: segment ", number, " has no digest")};
  }
  return xxh3_of({read.memory->address(), read.name.bytes}) == read.name.digest;
}

Result<void> Segments::close(std::uint64_t number, Stream stream, SegmentAfter after) {
  AQUA_ASSIGN(StreamMark mark, StreamMark::create(parts_->runtime, stream));
  return parts_->member->close(number, std::move(mark), after);
}

Result<void> Segments::close(std::uint64_t number, SegmentAfter after) {
  AQUA_ASSIGN(StreamMark mark, StreamMark::create(parts_->runtime));
  return parts_->member->close(number, std::move(mark), after);
}

Result<void> Segments::drop(const SegmentName& name) {
  return parts_->member->drop(name);
}

bool Segments::wait(std::chrono::milliseconds patience) {
  return parts_->member->wait(patience);
}

SegmentsStatus Segments::status() const {
  return parts_->member->status();
}

}  // namespace aqua
