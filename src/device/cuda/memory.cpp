// SPDX-License-Identifier: Apache-2.0
// CudaDevice's physical memory, addresses and registered host memory.
#include <algorithm>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "device/cuda/device_impl.hpp"
#include "device/cuda/error.hpp"
#include "device/cuda/reach.hpp"

namespace aqua::device {
namespace {

// How many SMs copies take. Measured with an H100's 132, by gpu_bench --only sm_budget
// (docs/plan/gpu.md). Within its memory a quarter copies at 0.82 of a bulk copy's rate and takes
// 0.04 of a matrix product's speed; all of them 0.94 and 0.19. Kernels that saturate PCIe hold up
// the whole memory system: two that write to the host take 0.41 of the product, one takes none, at
// 0.76 of the rate; four that read take none, at 0.94. Nothing is measured yet of links between
// GPUs.
unsigned default_sms(int sms, CopyPath path) {
  switch (path) {
    case CopyPath::within_device:
      return static_cast<unsigned>(std::max(4, sms / 4));
    case CopyPath::to_host:
      return 1;
    case CopyPath::from_host:
      return 4;
    case CopyPath::peer:
      break;
  }
  return static_cast<unsigned>(std::max(4, sms / 8));
}

}  // namespace

CudaDevice::CudaDevice(Parts parts)
    : parts_(std::move(parts)),
      budget_(std::make_shared<SlabBudget>(parts_.info.total_bytes)),
      sms_(parts_.context->attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)),
      kernels_(parts_.kernels),
      batches_(std::make_unique<BatchLimit>(parts_.context, parts_.batch_patience)) {}

unsigned CudaDevice::sms_for(const CopyOptions& options) const noexcept {
  return options.max_sms != 0 ? options.max_sms : default_sms(sms_, options.path);
}

std::size_t CudaDevice::free_bytes() const {
  const std::size_t ours = budget_->free_bytes();
  const auto scope = parts_.context->try_enter();
  std::size_t free = 0;
  std::size_t total = 0;
  if (!scope || driver().MemGetInfo(&free, &total) != CUDA_SUCCESS) return 0;
  return std::min(ours, free);  // other users of the GPU count as well
}

Result<std::unique_ptr<Slab>> CudaDevice::create_slab(std::size_t bytes, SlabUse use) {
  AQUA_TRY(check_size("create_slab", bytes, parts_.info.granularity));
  AQUA_ASSIGN(const auto scope, parts_.context->enter());
  return CudaSlab::create(parts_.context, budget_, bytes, use);
}

Result<WriteProtection> CudaDevice::seal(Slab& slab) {
  auto* own = dynamic_cast<CudaSlab*>(&slab);
  if (own == nullptr || own->owner() != budget_.get()) return not_ours("seal", "slab");
  AQUA_TRY(own->seal());
  return WriteProtection::by_convention;
}

Result<UniqueFd> CudaDevice::export_slab(const Slab& slab) {
  const auto* own = dynamic_cast<const CudaSlab*>(&slab);
  if (own == nullptr || own->owner() != budget_.get()) return not_ours("export_slab", "slab");
  AQUA_ASSIGN(const auto scope, parts_.context->enter());
  return own->export_fd();
}

Result<std::unique_ptr<Slab>> CudaDevice::import_slab(UniqueFd fd, std::size_t bytes, SlabUse use) {
  if (!fd.valid()) return Error{Code::invalid_argument, "import_slab: no descriptor"};
  AQUA_TRY(check_size("import_slab", bytes, parts_.info.granularity));
  AQUA_ASSIGN(const auto scope, parts_.context->enter());
  // The driver takes a reference of its own; ours is closed on every way out.
  return CudaSlab::import(parts_.context, fd.get(), bytes, parts_.info.granularity, use);
}

Result<std::unique_ptr<AddressRange>> CudaDevice::reserve(std::size_t bytes) {
  AQUA_TRY(check_size("reserve", bytes, parts_.info.granularity));
  AQUA_ASSIGN(const auto scope, parts_.context->enter());
  return CudaRange::reserve(parts_.context, budget_, {reachable_, read_only_}, bytes,
                            parts_.info.granularity);
}

Result<void> CudaDevice::map(AddressRange& range, std::size_t offset, const Slab& slab,
                             MapAccess access) {
  auto* own = own_range(range);
  if (own == nullptr) return not_ours("map", "range");
  const auto* cuda = dynamic_cast<const CudaSlab*>(&slab);
  if (cuda == nullptr) return not_ours("map", "slab");
  AQUA_ASSIGN(const auto scope, parts_.context->enter());
  return own->map(offset, *cuda, access);
}

Result<void> CudaDevice::unmap(AddressRange& range, std::size_t offset, std::size_t bytes) {
  auto* own = own_range(range);
  if (own == nullptr) return not_ours("unmap", "range");
  AQUA_ASSIGN(const auto scope, parts_.context->enter());
  return own->unmap(offset, bytes);
}

// Copies are cut at the new ends before the driver knows of the registration, and until after it
// has forgotten it: a command that reaches across one is refused.
Result<void> CudaDevice::register_host(std::byte* memory, std::size_t bytes) {
  AQUA_TRY(check_scrub(memory, bytes));
  AQUA_ASSIGN(const auto scope, parts_.context->enter());
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  {
    const MutexLock lock(mu_);
    auto cuts = std::make_shared<Cuts>(*cuts_);
    for (const std::uintptr_t end : {begin, begin + bytes}) {
      cuts->insert(std::upper_bound(cuts->begin(), cuts->end(), end), end);
    }
    cuts_ = std::move(cuts);
  }
  auto registered =
      check(driver(),
            driver().MemHostRegister(memory, bytes,
                                     CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP),
            concat("register_host: ", bytes, " bytes").c_str(), "cuMemHostRegister");
  if (!registered.ok()) {
    remove_cuts(memory, bytes);
  } else if (same_on_device(driver(), memory)) {
    reachable_->add(memory, bytes);  // under another address there it is for copy engines alone
  }
  return registered;
}

Result<void> CudaDevice::unregister_host(std::byte* memory, std::size_t bytes) {
  AQUA_ASSIGN(const auto scope, parts_.context->enter());
  reachable_->remove(memory, bytes);
  AQUA_TRY(check(driver(), driver().MemHostUnregister(memory), "unregister_host",
                 "cuMemHostUnregister"));
  remove_cuts(memory, bytes);
  return {};
}

void CudaDevice::remove_cuts(const std::byte* memory, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const MutexLock lock(mu_);
  auto cuts = std::make_shared<Cuts>(*cuts_);
  for (const std::uintptr_t end : {begin, begin + bytes}) {
    const auto found = std::find(cuts->begin(), cuts->end(), end);
    if (found != cuts->end()) cuts->erase(found);
  }
  cuts_ = std::move(cuts);
}

std::shared_ptr<const CudaDevice::Cuts> CudaDevice::cuts() const {
  const MutexLock lock(mu_);
  return cuts_;
}

CudaRange* CudaDevice::own_range(AddressRange& range) const {
  auto* cuda = dynamic_cast<CudaRange*>(&range);
  return cuda != nullptr && cuda->device() == budget_.get() ? cuda : nullptr;
}

}  // namespace aqua::device
