// SPDX-License-Identifier: Apache-2.0
// The class behind open_emulated and open_host; only their files include it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "device/copy_tally.hpp"
#include "device/device.hpp"
#include "device/memfd/links.hpp"
#include "device/memfd/range.hpp"
#include "device/memfd/slab.hpp"
#include "device/memfd/stream_table.hpp"
#include "device/work_checks.hpp"

namespace aqua::device {

struct MemfdOptions {
  Info info;
  bool touch_slabs = false;
  bool closed_addresses = false;
  std::optional<std::uint64_t> hostile_seed;
  LinkRates links{};
};

// Work in flight refers to regions_, never to the device; slabs and ranges share what they
// need. So these may outlive it.
class MemfdDevice final : public Device {
 public:
  explicit MemfdDevice(MemfdOptions options);

  // memory.cpp
  [[nodiscard]] const Info& info() const noexcept override { return options_.info; }
  [[nodiscard]] std::size_t free_bytes() const override;
  [[nodiscard]] Result<std::unique_ptr<Slab>> create_slab(std::size_t bytes, SlabUse use) override;
  [[nodiscard]] Result<WriteProtection> seal(Slab& slab) override;
  [[nodiscard]] Result<UniqueFd> export_slab(const Slab& slab) override;
  [[nodiscard]] Result<std::unique_ptr<Slab>> import_slab(UniqueFd fd, std::size_t bytes,
                                                          SlabUse use) override;
  [[nodiscard]] Result<std::unique_ptr<AddressRange>> reserve(std::size_t bytes) override;
  [[nodiscard]] Result<void> map(AddressRange& range, std::size_t offset, const Slab& slab,
                                 MapAccess access) override;
  [[nodiscard]] Result<void> unmap(AddressRange& range, std::size_t offset,
                                   std::size_t bytes) override;
  void poison(const std::byte* address, std::size_t bytes);

  // streams.cpp
  [[nodiscard]] Result<Stream> create_stream() override;
  [[nodiscard]] Result<void> destroy_stream(Stream stream) override;
  [[nodiscard]] Result<std::unique_ptr<Event>> create_event(EventKind kind) override;
  [[nodiscard]] Result<void> record(Event& event, Stream stream) override;
  [[nodiscard]] Result<void> wait_event(Stream stream, const Event& event) override;
  [[nodiscard]] Result<bool> query(const Event& event) override;
  [[nodiscard]] Result<void> synchronize(const Event& event) override;
  [[nodiscard]] std::uint64_t latest_failure(const Event& event) const override;
  [[nodiscard]] Result<std::chrono::nanoseconds> elapsed(const Event& start,
                                                         const Event& end) override;
  [[nodiscard]] Result<void> synchronize(Stream stream) override;
  [[nodiscard]] Result<void> copy(CopyBatch batch, Stream stream,
                                  const CopyOptions& options) override;
  [[nodiscard]] Result<void> check_writable(const std::byte* dst, std::size_t bytes) const override;
  [[nodiscard]] CopyCounts copy_counts() const noexcept override { return tally_.counts(); }
  [[nodiscard]] Result<void> copy_blocks(BlockTable& table, const PieceRange& pieces, Stream stream,
                                         const CopyOptions& options) override;
  [[nodiscard]] bool takes_blocks(CopyMethod, Stream) const noexcept override { return true; }
  [[nodiscard]] Result<void> scrub(std::byte* dst, std::size_t bytes, Stream stream) override;
  [[nodiscard]] Result<void> launch(Stream stream, std::function<void()> kernel);
  [[nodiscard]] Result<void> check_stream(Stream stream) const override;
  [[nodiscard]] bool capturing(Stream stream) const noexcept override {
    return captures_ && stream.native == captured_;
  }
  void fall_silent(bool silent) { silent_ = silent; }
  void capture(std::optional<Stream> stream) {
    captured_ = stream ? stream->native : 0;
    captures_ = stream.has_value();
  }

 private:
  void count(CopyMethod asked) noexcept;
  [[nodiscard]] Result<void> check_answers(const char* call) const;
  [[nodiscard]] MemfdRange* own_range(AddressRange& range) const;
  void pause();

  const MemfdOptions options_;
  const std::shared_ptr<Capacity> capacity_;
  const std::shared_ptr<MappedRegions> regions_ = std::make_shared<MappedRegions>();
  const std::shared_ptr<Links> links_;
  std::atomic<std::uint64_t> pauses_{0};
  std::atomic<bool> silent_{false};          // answers no question about an event
  std::atomic<bool> captures_{false};        // says that a stream is captured, the one of …
  std::atomic<std::uintptr_t> captured_{0};  // … this number
  CopyTally tally_;
  StreamTable streams_;  // last: its threads end first
};

}  // namespace aqua::device
