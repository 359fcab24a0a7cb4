// SPDX-License-Identifier: Apache-2.0
// CudaDevice's work: copies by copy engine or kernel, and scrubs.
#include "kernels/copy.hpp"

#include <algorithm>
#include <new>
#include <tuple>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "device/cuda/copy_cuts.hpp"
#include "device/cuda/device_impl.hpp"
#include "device/cuda/error.hpp"
#include "device/cuda/reach.hpp"
#include "device/cuda/without_kernel.hpp"

namespace aqua::device {
namespace {

// Lists of a thread's copies: posting allocates only until they have grown.
struct Scratch {
  std::vector<CopySegment> runs;
  std::vector<CUdeviceptr> dst, src;
  std::vector<std::size_t> bytes;
};
thread_local Scratch scratch;

constexpr std::size_t kRunsOfLaunch = 32768;  // an eighth of the ring of lists

CUdeviceptr address(const std::byte* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

// Queues runs until one is refused. The number queued, and the refusal.
std::pair<std::size_t, CUresult> queue(const CudaDriver& driver, std::span<const CopySegment> runs,
                                       CUstream stream) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const CUresult queued =
        driver.MemcpyAsync(address(runs[i].dst), address(runs[i].src), runs[i].bytes, stream);
    if (queued != CUDA_SUCCESS) return {i, queued};
  }
  return {runs.size(), CUDA_SUCCESS};
}

}  // namespace

bool CudaDevice::supports(CopyMethod method, Stream stream) const noexcept {
  switch (method) {
    case CopyMethod::each:
      return true;
    case CopyMethod::batched:
      return driver().MemcpyBatchAsync != nullptr && !batches_->seen_to_hang() &&
             !is_legacy(stream) && !capturing(stream);
    case CopyMethod::kernel:
      // A graph would read its list long after the list is gone.
      return kernels_.load() && !capturing(stream);
  }
  return false;
}

Result<void> CudaDevice::copy(CopyBatch batch, Stream stream, const CopyOptions& options) {
  AQUA_TRY(check_batch(batch));
  AQUA_TRY(check_destinations(*batch, *read_only_));
  AQUA_ASSIGN(const auto scope, parts_.context->enter());
  if (options.cancel && options.cancel->load()) return {};
  Runs runs = cut_segments(*batch, *cuts(), scratch.runs);
  if (runs.empty()) return {};

  CopyMethod method = options.method;
  bool any = false;
  if (method == CopyMethod::kernel) {
    if (supports(method, stream)) {
      AQUA_ASSIGN(const std::size_t posted, copy_by_kernel(runs, native(stream), sms_for(options)));
      if (posted > 0) tally_.ran(method);
      runs = runs.subspan(posted);
      if (runs.empty()) return {};
      any = posted > 0;
    } else {
      tally_.passed_over(Fallback::unsupported);
    }
    method = CopyMethod::batched;
  }
  if (method == CopyMethod::batched) {
    const std::size_t posted = copy_batched(runs, stream);
    if (posted > 0) tally_.ran(method);
    runs = runs.subspan(posted);
    if (runs.empty()) return {};
    any = any || posted > 0;
  }
  return copy_each(batch, runs, native(stream), any);
}

// None when an address is out of a kernel's reach; fewer than all when the ring of lists is full.
Result<std::size_t> CudaDevice::copy_by_kernel(Runs runs, CUstream stream, unsigned max_sms) {
  if (!CudaReach(driver(), *reachable_).covers(runs)) {
    tally_.passed_over(Fallback::unreachable);
    return std::size_t{0};
  }
  for (std::size_t first = 0; first < runs.size(); first += kRunsOfLaunch) {
    const Runs part = runs.subspan(first, std::min(kRunsOfLaunch, runs.size() - first));
    auto posted = launch_copy(part, stream, max_sms);
    if (!posted.ok() && first == 0) return std::move(posted).error();
    if (!posted.ok() || !*posted) return first;
  }
  return runs.size();
}

Result<bool> CudaDevice::launch_copy(Runs runs, CUstream stream, unsigned max_sms) {
  const std::size_t bytes = runs.size() * sizeof(kernels::Segment);
  UploadRing& uploads = *parts_.uploads;
  const auto slot = uploads.take(bytes);
  if (!slot) {
    tally_.passed_over(Fallback::full);
    return false;
  }

  auto* list = new (slot->host) kernels::Segment[runs.size()];
  for (std::size_t i = 0; i < runs.size(); ++i) {
    list[i] = {.dst = runs[i].dst, .src = runs[i].src, .bytes = runs[i].bytes};
  }
  kernels::CopyLaunch launch = kernels::describe({list, runs.size()});
  launch.segments = reinterpret_cast<const kernels::Segment*>(slot->device);
  launch.max_sms = max_sms;
  if (const CUresult listed = uploads.upload(*slot, bytes); listed != CUDA_SUCCESS) {
    uploads.release(*slot);
    return queued(listed, "the upload of its list");
  }
  if (const CUresult awaited = uploads.await(*slot, stream); awaited != CUDA_SUCCESS) {
    uploads.release(*slot);
    return check(driver(), awaited, "copy", "cuStreamWaitEvent").error();
  }
  const auto launched = static_cast<CUresult>(kernels::copy_segments(launch, stream));
  uploads.used(*slot, stream);
  uploads.release(*slot);
  return queued(launched, "copy_segments");
}

Result<bool> CudaDevice::queued(CUresult launched, const char* kernel) {
  if (launched == CUDA_SUCCESS) return true;
  if (code_of(launched) == Code::data_loss)
    return check(driver(), launched, "copy", kernel).error();
  if (without_kernel(static_cast<int>(launched))) kernels_.store(false);
  tally_.passed_over(Fallback::refused);
  return false;
}

// Fewer than all where a command is refused, or too many have not ended. No error: the rest goes
// each by itself.
std::size_t CudaDevice::copy_batched(Runs runs, Stream stream) {
  if (!supports(CopyMethod::batched, stream)) {
    tally_.passed_over(Fallback::unsupported);
    return 0;
  }
  if (!CudaReach(driver(), *reachable_).covers(runs)) {
    tally_.passed_over(Fallback::unreachable);
    return 0;
  }
  Scratch& s = scratch;
  s.dst.clear();
  s.src.clear();
  s.bytes.clear();
  for (const CopySegment& run : runs) {
    s.dst.push_back(address(run.dst));
    s.src.push_back(address(run.src));
    s.bytes.push_back(run.bytes);
  }
  for (std::size_t i = 0; i < runs.size(); i += BatchLimit::kCopies) {
    const std::size_t count = std::min(BatchLimit::kCopies, runs.size() - i);
    const auto refused = batches_->post(
        {{&s.dst[i], count}, {&s.src[i], count}, {&s.bytes[i], count}}, native(stream));
    if (!refused) continue;
    tally_.passed_over(*refused);
    return i;
  }
  return runs.size();
}

// The driver refuses a run that reaches across host memory that has been registered meanwhile. So
// what is refused at first is tried once more, cut anew. Copying twice does no harm.
// `any`: some of the batch is queued already, so that a refusal can only be told by the events.
Result<void> CudaDevice::copy_each(const CopyBatch& batch, Runs runs, CUstream stream, bool any) {
  auto [queued, refused] = queue(driver(), runs, stream);
  any = any || queued > 0;
  if (refused == CUDA_ERROR_INVALID_VALUE) {
    runs = cut_segments(*batch, *cuts(), scratch.runs);
    std::tie(queued, refused) = queue(driver(), runs, stream);
    any = any || queued > 0;
  }
  if (queued > 0) tally_.ran(CopyMethod::each);
  auto outcome = check(driver(), refused, "copy", "cuMemcpyAsync");
  if (outcome.ok() || !any) return outcome;
  failures_.note(Stream{reinterpret_cast<std::uintptr_t>(stream)});
  return {};
}

CopyCounts CudaDevice::copy_counts() const noexcept {
  CopyCounts counts = tally_.counts();
  if (const auto scope = parts_.context->try_enter()) counts.batches_hang = batches_->hangs();
  return counts;
}

Result<void> CudaDevice::check_writable(const std::byte* dst, std::size_t bytes) const {
  return check_destination("check_writable", dst, bytes, *read_only_);
}

Result<void> CudaDevice::scrub(std::byte* dst, std::size_t bytes, Stream stream) {
  AQUA_TRY(check_scrub(dst, bytes));
  AQUA_TRY(check_destination("scrub", dst, bytes, *read_only_));
  if (bytes == 0) return {};
  AQUA_ASSIGN(const auto scope, parts_.context->enter());
  constexpr std::size_t kWord = 4;
  if (reinterpret_cast<std::uintptr_t>(dst) % kWord == 0 && bytes % kWord == 0) {
    return check(driver(), driver().MemsetD32Async(address(dst), 0, bytes / kWord, native(stream)),
                 "scrub", "cuMemsetD32Async");
  }
  return check(driver(), driver().MemsetD8Async(address(dst), 0, bytes, native(stream)), "scrub",
               "cuMemsetD8Async");
}

}  // namespace aqua::device
