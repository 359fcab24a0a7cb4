// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/reach.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

namespace aqua::device {
namespace {

// No mapping of device memory is smaller, or begins elsewhere than at a multiple of it.
constexpr CUdeviceptr kGranule = CUdeviceptr{2} << 20;

// What cuPointerGetAttributes is documented to answer. Zeroes for what is no memory of CUDA's.
struct Listed {
  unsigned type = 0;  // CUmemorytype
  CUdeviceptr device_pointer = 0;
  CUdeviceptr start = 0;
  std::size_t size = 0;
  unsigned managed = 0;
  unsigned mapped = 0;
};

std::optional<Listed> ask_listed(const CudaDriver& driver, CUdeviceptr address) {
  Listed listed;
  std::array names{CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                   CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                   CU_POINTER_ATTRIBUTE_IS_MANAGED,       CU_POINTER_ATTRIBUTE_MAPPED};
  std::array<void*, names.size()> values{&listed.type, &listed.device_pointer, &listed.start,
                                         &listed.size, &listed.managed,        &listed.mapped};
  const CUresult asked = driver.PointerGetAttributes(static_cast<unsigned>(names.size()),
                                                     names.data(), values.data(), address);
  if (asked != CUDA_SUCCESS || listed.device_pointer == 0) return std::nullopt;
  return listed;
}

// Where the driver tells no access: peers may be closed to us, and managed memory be elsewhere.
bool plainly_reachable(const CudaDriver& driver, const Listed& listed) {
  if (listed.managed != 0) return false;
  if (listed.type == CU_MEMORYTYPE_HOST) return true;
  CUdevice current = -1;
  int owner = -2;
  return listed.type == CU_MEMORYTYPE_DEVICE && driver.CtxGetDevice(&current) == CUDA_SUCCESS &&
         driver.PointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                    listed.device_pointer) == CUDA_SUCCESS &&
         owner == current;
}

}  // namespace

bool CudaReach::covers(std::span<const CopySegment> runs) {
  Range dst;
  Range src;
  return std::ranges::all_of(runs, [&](const CopySegment& run) {
    return covers(run.dst, run.bytes, dst) && covers(run.src, run.bytes, src);
  });
}

bool CudaReach::covers(const std::byte* address, std::size_t bytes, Range& last) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  if (last.first <= begin && begin + bytes <= last.second) return true;
  for (std::uintptr_t at = begin; at < begin + bytes;) {  // neighbouring allocations may share it
    auto next = std::upper_bound(known_.begin(), known_.end(), Range{at, UINTPTR_MAX});
    if (next == known_.begin() || std::prev(next)->second <= at) {
      Range met = ask(address + (at - begin));
      if (met.second <= at) return false;
      if (next != known_.begin()) met.first = std::max(met.first, std::prev(next)->second);
      next = known_.insert(next, met) + 1;
    }
    last = *std::prev(next);
    at = last.second;
  }
  return true;
}

CudaReach::Range CudaReach::ask(const std::byte* address) const {
  if (const auto run = ours_.around(address)) return *run;
  return ask_driver(reinterpret_cast<CUdeviceptr>(address));
}

// The range is the whole reservation, mapped or not (engines' expandable segments); the mapping,
// where the driver names one, is what is memory.
CudaReach::Range CudaReach::ask_driver(CUdeviceptr address) const {
  const auto listed = ask_listed(driver_, address);
  if (!listed || listed->device_pointer != address) return {};
  const Range range{listed->start, listed->start + listed->size};
  const auto ask_one = [&](CUpointer_attribute name, auto& value) {
    return driver_.PointerGetAttribute(&value, name, address) == CUDA_SUCCESS;
  };
  unsigned access = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE;
  const bool reachable = ask_one(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, access)
                             ? access == CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE
                             : plainly_reachable(driver_, *listed);
  if (!reachable) return {};
  CUdeviceptr mapping = 0;
  std::size_t mapping_size = 0;
  if (ask_one(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, mapping) &&
      ask_one(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, mapping_size)) {
    return mapping_size != 0 ? Range{mapping, mapping + mapping_size} : range;
  }
  if (listed->mapped == 0) return {};
  const CUdeviceptr granule = address / kGranule * kGranule;
  return {std::max<CUdeviceptr>(range.first, granule),
          std::min<CUdeviceptr>(range.second, granule + kGranule)};
}

bool same_on_device(const CudaDriver& driver, const std::byte* address) {
  const auto number = reinterpret_cast<CUdeviceptr>(address);
  const auto listed = ask_listed(driver, number);
  return listed && listed->device_pointer == number;
}

}  // namespace aqua::device
