// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/reach.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace aqua::device {

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
  // The range is the whole reservation, mapped or not (engines' expandable segments); the mapping,
  // where the driver names one, is what is memory.
  std::array<CUpointer_attribute, 5> names{
      CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
      CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR,
      CU_POINTER_ATTRIBUTE_MAPPING_SIZE};
  unsigned access = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE;
  CUdeviceptr start = 0;
  std::size_t size = 0;
  CUdeviceptr mapping = 0;
  std::size_t mapping_size = 0;
  std::array<void*, 5> values{&access, &start, &size, &mapping, &mapping_size};
  const CUresult asked =
      driver_.PointerGetAttributes(static_cast<unsigned>(names.size()), names.data(), values.data(),
                                   reinterpret_cast<CUdeviceptr>(address));
  if (asked != CUDA_SUCCESS || access != CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE) return {};
  return mapping_size != 0 ? Range{mapping, mapping + mapping_size} : Range{start, start + size};
}

}  // namespace aqua::device
