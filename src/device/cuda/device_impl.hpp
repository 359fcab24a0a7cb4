// SPDX-License-Identifier: Apache-2.0
// The class behind open_cuda; only its files include it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "device/copy_tally.hpp"
#include "device/cuda/batch/batch_limit.hpp"
#include "device/cuda/context.hpp"
#include "device/cuda/device.hpp"
#include "device/cuda/post_failures.hpp"
#include "device/cuda/range.hpp"
#include "device/cuda/upload_ring.hpp"
#include "device/region_set.hpp"
#include "device/slab_budget.hpp"
#include "device/work_checks.hpp"

namespace aqua::device {

class CudaDevice final : public Device {
 public:
  struct Parts {
    std::shared_ptr<const CudaContext> context;
    Info info;
    std::unique_ptr<UploadRing> uploads;
    bool kernels = false;  // there are some for this GPU
    std::chrono::milliseconds batch_patience{};
  };
  explicit CudaDevice(Parts parts);
  ~CudaDevice() override;  // runs what is queued on the streams that it created

  // memory.cpp
  [[nodiscard]] const Info& info() const noexcept override { return parts_.info; }
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
  [[nodiscard]] Result<void> register_host(std::byte* memory, std::size_t bytes) override;
  [[nodiscard]] Result<void> unregister_host(std::byte* memory, std::size_t bytes) override;
  [[nodiscard]] const std::shared_ptr<const CudaContext>& context() const noexcept {
    return parts_.context;
  }

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
  [[nodiscard]] bool capturing(Stream stream) const noexcept override;
  [[nodiscard]] Result<void> check_stream(Stream stream) const override;

  // copy.cpp
  [[nodiscard]] Result<void> copy(CopyBatch batch, Stream stream,
                                  const CopyOptions& options) override;
  [[nodiscard]] bool supports(CopyMethod method, Stream stream) const noexcept override;
  [[nodiscard]] Result<void> check_writable(const std::byte* dst, std::size_t bytes) const override;
  [[nodiscard]] CopyCounts copy_counts() const noexcept override;

  // blocks.cpp
  [[nodiscard]] Result<std::unique_ptr<BlockTable>> prepare_blocks(BlockBatch blocks) override;
  [[nodiscard]] Result<void> copy_blocks(BlockTable& table, const PieceRange& pieces, Stream stream,
                                         const CopyOptions& options) override;
  [[nodiscard]] bool takes_blocks(CopyMethod method, Stream stream) const noexcept override {
    return method == CopyMethod::kernel && supports(method, stream);
  }

  [[nodiscard]] Result<void> scrub(std::byte* dst, std::size_t bytes, Stream stream) override;

 private:
  using Runs = std::span<const CopySegment>;
  using Cuts = std::vector<std::uintptr_t>;
  [[nodiscard]] const CudaDriver& driver() const noexcept { return parts_.context->driver(); }
  [[nodiscard]] CudaRange* own_range(AddressRange& range) const;
  [[nodiscard]] std::shared_ptr<const Cuts> cuts() const;
  void remove_cuts(const std::byte* memory, std::size_t bytes);
  // The three ways. The first two tell how many of the first runs are queued; an error of the third
  // means that none is, of it or of `any` before it.
  [[nodiscard]] Result<std::size_t> copy_by_kernel(Runs runs, CUstream stream, unsigned max_sms);
  [[nodiscard]] std::size_t copy_batched(Runs runs, Stream stream);
  [[nodiscard]] Result<void> copy_each(const CopyBatch& batch, Runs runs, CUstream stream,
                                       bool any);
  [[nodiscard]] unsigned sms_for(const CopyOptions& options) const noexcept;
  // Whether none of these pieces goes near memory that is mapped read-only.
  [[nodiscard]] bool writes_freely(const BlockTable& table, const PieceRange& pieces) const;
  [[nodiscard]] bool reaches_line(const BlockTable& table, const PieceRange& pieces) const;
  // These two answer false where the copies go another way.
  [[nodiscard]] Result<bool> launch_copy(Runs runs, CUstream stream, unsigned max_sms);
  [[nodiscard]] Result<bool> queued(CUresult launched, const char* kernel);

  const Parts parts_;
  const std::shared_ptr<SlabBudget> budget_;
  const int sms_;  // that the GPU has
  const std::shared_ptr<RegionSet> reachable_ = std::make_shared<RegionSet>();
  const std::shared_ptr<RegionSet> read_only_ = std::make_shared<RegionSet>();
  std::atomic<bool> kernels_;  // until a launch is refused
  CopyTally tally_;
  const std::unique_ptr<BatchLimit> batches_;
  PostFailures failures_;
  mutable Mutex mu_;
  std::set<std::uintptr_t> streams_ AQUA_GUARDED_BY(mu_);  // created here
  // Where registrations of host memory begin and end, ascending. Replaced, never changed.
  std::shared_ptr<const Cuts> cuts_ AQUA_GUARDED_BY(mu_) = std::make_shared<const Cuts>();
};

[[nodiscard]] inline CUstream native(Stream stream) noexcept {
  return reinterpret_cast<CUstream>(stream.native);
}

[[nodiscard]] inline bool is_legacy(Stream stream) noexcept {
  return stream.native == 0 || native(stream) == CU_STREAM_LEGACY;
}

}  // namespace aqua::device
