// SPDX-License-Identifier: Apache-2.0
// A Device that refuses chosen calls and passes all others on.
#pragma once

#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "base/try.hpp"
#include "device/device.hpp"

namespace aqua::test {

class FaultyDevice : public device::Device {
 public:
  using Slab = device::Slab;
  using AddressRange = device::AddressRange;
  using Event = device::Event;

  explicit FaultyDevice(device::Device& inner) : inner_(inner), info_(inner.info()) {}

  static constexpr Code kCode = Code::unavailable;
  // From now on refuse the first..last-th call (counted from 1) of those that can fail.
  void refuse(unsigned first, unsigned last) {
    calls_ = 0;
    first_ = first;
    last_ = last;
  }
  void refuse_none() { refuse(0, 0); }
  [[nodiscard]] bool refused_any() const { return first_ != 0 && calls_ >= first_; }
  // Says that this stream is being captured into a graph; nothing for none.
  void capture(std::optional<Stream> stream) { captured_ = stream; }
  // What info() says, so that another kind's choices can be tried.
  void pretend(device::Kind kind) { info_.kind = kind; }
  void pretend_cache(std::size_t bytes) { info_.cache_bytes = bytes; }

  const device::Info& info() const noexcept override { return info_; }
  std::size_t free_bytes() const override { return inner_.free_bytes(); }

  Result<std::unique_ptr<Slab>> create_slab(std::size_t bytes, device::SlabUse use) override {
    if (refuse_now()) return refusal("create_slab");
    return inner_.create_slab(bytes, use);
  }
  Result<WriteProtection> seal(Slab& slab) override { return inner_.seal(slab); }
  Result<UniqueFd> export_slab(const Slab& slab) override { return inner_.export_slab(slab); }
  Result<std::unique_ptr<Slab>> import_slab(UniqueFd fd, std::size_t bytes,
                                            device::SlabUse use) override {
    return inner_.import_slab(std::move(fd), bytes, use);
  }
  Result<std::unique_ptr<AddressRange>> reserve(std::size_t bytes) override {
    if (refuse_now()) return refusal("reserve");
    return inner_.reserve(bytes);
  }
  Result<void> map(AddressRange& range, std::size_t offset, const Slab& slab,
                   device::MapAccess access) override {
    if (refuse_now()) return refusal("map");
    return inner_.map(range, offset, slab, access);
  }
  Result<void> unmap(AddressRange& range, std::size_t offset, std::size_t bytes) override {
    return inner_.unmap(range, offset, bytes);
  }
  Result<Stream> create_stream() override {
    if (refuse_now()) return refusal("create_stream");
    return inner_.create_stream();
  }
  Result<void> destroy_stream(Stream stream) override { return inner_.destroy_stream(stream); }
  Result<std::unique_ptr<Event>> create_event(device::EventKind kind) override {
    if (refuse_now()) return refusal("create_event");
    return inner_.create_event(kind);
  }
  Result<void> record(Event& event, Stream stream) override {
    if (refuse_now()) return refusal("record");
    return inner_.record(event, stream);
  }
  Result<void> wait_event(Stream stream, const Event& event) override {
    if (refuse_now()) return refusal("wait_event");
    return inner_.wait_event(stream, event);
  }
  Result<bool> query(const Event& event) override { return inner_.query(event); }
  Result<void> synchronize(const Event& event) override { return inner_.synchronize(event); }
  std::uint64_t latest_failure(const Event& event) const override {
    return inner_.latest_failure(event);
  }
  Result<std::chrono::nanoseconds> elapsed(const Event& start, const Event& end) override {
    return inner_.elapsed(start, end);
  }
  Result<void> synchronize(Stream stream) override { return inner_.synchronize(stream); }
  Result<void> copy(device::CopyBatch batch, Stream stream,
                    const device::CopyOptions& options) override {
    if (refuse_now()) return refusal("copy");
    return inner_.copy(std::move(batch), stream, options);
  }
  Result<std::unique_ptr<device::BlockTable>> prepare_blocks(device::BlockBatch blocks) override {
    if (refuse_now()) return refusal("prepare_blocks");
    return inner_.prepare_blocks(std::move(blocks));
  }
  Result<void> copy_blocks(device::BlockTable& table, const device::PieceRange& pieces,
                           Stream stream, const device::CopyOptions& options) override {
    if (refuse_now()) return refusal("copy_blocks");
    return inner_.copy_blocks(table, pieces, stream, options);
  }
  [[nodiscard]] bool takes_blocks(device::CopyMethod method,
                                  Stream stream) const noexcept override {
    return inner_.takes_blocks(method, stream);
  }
  [[nodiscard]] bool capturing(Stream stream) const noexcept override {
    return captured_ == stream || inner_.capturing(stream);
  }
  [[nodiscard]] Result<void> check_stream(Stream stream) const override {
    AQUA_TRY(inner_.check_stream(stream));
    return Device::check_stream(stream);
  }
  [[nodiscard]] bool supports(device::CopyMethod method, Stream stream) const noexcept override {
    return inner_.supports(method, stream);
  }
  [[nodiscard]] Result<void> check_writable(const std::byte* dst,
                                            std::size_t bytes) const override {
    return inner_.check_writable(dst, bytes);
  }
  [[nodiscard]] device::CopyCounts copy_counts() const noexcept override {
    return inner_.copy_counts();
  }
  Result<void> scrub(std::byte* dst, std::size_t bytes, Stream stream) override {
    return inner_.scrub(dst, bytes, stream);
  }

 private:
  bool refuse_now() {
    const unsigned call = ++calls_;
    return first_ != 0 && call >= first_ && call <= last_;
  }
  static Error refusal(const char* call) { return Error{kCode, std::string("refused ") + call}; }

  device::Device& inner_;
  device::Info info_;
  std::optional<Stream> captured_;
  std::atomic<unsigned> calls_{0};
  unsigned first_ = 0;
  unsigned last_ = 0;
};

}  // namespace aqua::test
