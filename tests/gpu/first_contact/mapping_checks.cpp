// SPDX-License-Identifier: Apache-2.0
// How slabs are mapped.
#include <algorithm>
#include <array>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "bench/samples.hpp"
#include "tests/gpu/first_contact/check.hpp"
#include "tests/gpu/first_contact/gpu.hpp"

namespace aqua::first_contact {
namespace {

// This process imports what it exports.
Result<Handle> import_own(const Gpu& gpu, Handle handle) {
  AQUA_ASSIGN(const int fd, gpu.export_fd(handle));
  return gpu.import(fd);
}

// Whether what is written at one address is read at the other.
Result<bool> same_memory(const Gpu& gpu, CUdeviceptr one, CUdeviceptr other) {
  const auto bytes = pattern(gpu.granule(), 1);
  AQUA_TRY(gpu.write(one, bytes));
  AQUA_ASSIGN(const auto seen, gpu.read(other, bytes.size()));
  return seen == bytes;
}

}  // namespace

Result<Answer> map_sizes(const Gpu& gpu) {
  const std::size_t bytes = 2 * gpu.granule();
  AQUA_ASSIGN(const Handle ours, gpu.create(bytes));
  AQUA_ASSIGN(const Handle handle, import_own(gpu, ours));
  AQUA_ASSIGN(const CUdeviceptr base, gpu.reserve(bytes + gpu.granule()));
  const CUresult larger = gpu.cuda().MemMap(base, bytes + gpu.granule(), 0, handle, 0);
  // How the size of an import is learnt of a driver that maps more than there is: of the larger
  // mapping, to which there is no access yet. Of another driver only the exact one can be asked.
  std::size_t told = 0;
  CUresult range = CUDA_ERROR_NOT_MAPPED;
  if (larger == CUDA_SUCCESS) {
    range = gpu.cuda().MemGetAddressRange(nullptr, &told, base);
    (void)gpu.cuda().MemUnmap(base, bytes + gpu.granule());
  }
  const CUresult exact = gpu.cuda().MemMap(base, bytes, 0, handle, 0);
  if (exact == CUDA_SUCCESS && larger != CUDA_SUCCESS)
    range = gpu.cuda().MemGetAddressRange(nullptr, &told, base);
  return Answer{.yes = exact == CUDA_SUCCESS && larger != CUDA_SUCCESS,
                .detail = concat(
                    "exact: ", gpu.name_of(exact), ", a granule more: ", gpu.name_of(larger),
                    ", cuMemGetAddressRange of the ", larger == CUDA_SUCCESS ? "larger" : "exact",
                    ": ", gpu.name_of(range), ", ", told, " of ", bytes, " bytes"),
                .figures = {{"exact", gpu.name_of(exact)},
                            {"larger", gpu.name_of(larger)},
                            {"range_of_larger", larger == CUDA_SUCCESS},
                            {"range_tells_size", range == CUDA_SUCCESS && told == bytes}}};
}

Result<Answer> own_import(const Gpu& gpu) {
  AQUA_ASSIGN(const Handle ours, gpu.create(gpu.granule()));
  AQUA_ASSIGN(const Handle imported, import_own(gpu, ours));
  AQUA_ASSIGN(const CUdeviceptr one, gpu.map({ours}, gpu.granule()));
  AQUA_ASSIGN(const CUdeviceptr other, gpu.map({imported}, gpu.granule()));
  AQUA_ASSIGN(const bool same, same_memory(gpu, one, other));
  return Answer{.yes = same, .detail = same ? "and is the same memory" : "but is other memory"};
}

Result<Answer> map_twice(const Gpu& gpu) {
  AQUA_ASSIGN(const Handle handle, gpu.create(gpu.granule()));
  AQUA_ASSIGN(const CUdeviceptr one, gpu.map({handle}, gpu.granule()));
  AQUA_ASSIGN(const CUdeviceptr other, gpu.map({handle}, gpu.granule()));
  AQUA_ASSIGN(const bool same, same_memory(gpu, one, other));
  return Answer{.yes = same, .detail = same ? "same bytes at both" : "different bytes"};
}

Result<Answer> read_only(const Gpu& gpu) {
  AQUA_ASSIGN(const Handle handle, gpu.create(gpu.granule()));
  AQUA_ASSIGN(const CUdeviceptr writable, gpu.map({handle}, gpu.granule()));
  AQUA_ASSIGN(const CUdeviceptr readable,
              gpu.map({handle}, gpu.granule(), CU_MEM_ACCESS_FLAGS_PROT_READ));
  AQUA_ASSIGN(const bool read, same_memory(gpu, writable, readable));
  // Refused at once, or by a fault which this context does not survive.
  const auto written = gpu.write(readable, pattern(gpu.granule(), 2));
  return Answer{.yes = read && !written.ok(),
                .detail = concat(read ? "read" : "NOT read", "; written to: ",
                                 written.ok() ? "accepted" : written.error().message)};
}

Result<Answer> map_cost(const Gpu& gpu) {
  constexpr std::size_t kRounds = 51;
  const std::size_t bytes = std::max(gpu.granule(), gpu.large() / 4);
  AQUA_ASSIGN(const Handle handle, gpu.create(bytes));
  AQUA_ASSIGN(const CUdeviceptr base, gpu.reserve(bytes));
  std::vector<double> map, allow, unmap, all;
  for (std::size_t i = 0; i < kRounds; ++i) {
    const auto start = Clock::now();
    AQUA_TRY(gpu.done(gpu.cuda().MemMap(base, bytes, 0, handle, 0), "cuMemMap"));
    map.push_back(microseconds_since(start));
    AQUA_TRY(gpu.allow(base, bytes, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    allow.push_back(microseconds_since(start) - map.back());
    const auto end = Clock::now();
    AQUA_TRY(gpu.done(gpu.cuda().MemUnmap(base, bytes), "cuMemUnmap"));
    unmap.push_back(microseconds_since(end));
    all.push_back(microseconds_since(start));
  }
  using bench::median;
  return Answer{.yes = median(all) < 1000,
                .detail = concat(bytes >> 20, " MiB: map ", median(map), " us, access ",
                                 median(allow), " us, unmap ", median(unmap), " us"),
                .figures = {{"bytes", bytes},
                            {"map_us", median(map)},
                            {"set_access_us", median(allow)},
                            {"unmap_us", median(unmap)},
                            {"worst_of_all_three_us", bench::quantile(all, 1)}}};
}

}  // namespace aqua::first_contact
