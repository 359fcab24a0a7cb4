// SPDX-License-Identifier: Apache-2.0
// What waits for what.
#include <algorithm>
#include <array>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "bench/samples.hpp"
#include "tests/gpu/first_contact/check.hpp"
#include "tests/gpu/first_contact/gpu.hpp"

namespace aqua::first_contact {
namespace {

constexpr std::size_t kSmall = std::size_t{64} << 10;

struct Upload {
  CUdeviceptr to;
  const std::byte* from;
  std::size_t bytes;
  CUstream stream;
};

Result<Upload> upload(const Gpu& gpu, std::size_t bytes) {
  AQUA_ASSIGN(const CUdeviceptr to, gpu.allocate(bytes));
  AQUA_ASSIGN(const std::byte* const from, gpu.pinned(bytes));
  AQUA_ASSIGN(const CUstream stream, gpu.stream());
  return Upload{to, from, bytes, stream};
}

Result<void> post(const Gpu& gpu, const Upload& u) {
  return gpu.done(gpu.cuda().MemcpyAsync(u.to, address_of(u.from), u.bytes, u.stream),
                  "cuMemcpyAsync");
}

}  // namespace

Result<Answer> small_upload(const Gpu& gpu) {
  constexpr int kRounds = 11;
  AQUA_ASSIGN(const Upload small, upload(gpu, kSmall));
  AQUA_ASSIGN(const Upload large, upload(gpu, gpu.large()));
  std::vector<double> alone, beside, bulk;
  for (int round = 0; round < kRounds; ++round) {
    auto start = Clock::now();
    AQUA_TRY(post(gpu, small));
    AQUA_TRY(gpu.wait(small.stream));
    alone.push_back(microseconds_since(start));
    AQUA_TRY(post(gpu, large));
    start = Clock::now();
    AQUA_TRY(post(gpu, small));
    AQUA_TRY(gpu.wait(small.stream));
    beside.push_back(microseconds_since(start));
    AQUA_TRY(gpu.wait(large.stream));
    bulk.push_back(microseconds_since(start));
  }
  using bench::median;
  return Answer{.yes = median(beside) < median(alone) + median(bulk) / 4,
                .detail = concat("64 KiB alone ", median(alone), " us, beside ", gpu.large() >> 20,
                                 " MiB ", median(beside), " us, those ", median(bulk), " us"),
                .figures = {{"alone_us", median(alone)},
                            {"beside_us", median(beside)},
                            {"large_us", median(bulk)},
                            {"large_bytes", gpu.large()}}};
}

Result<Answer> unmap_waits(const Gpu& gpu) {
  constexpr int kCopies = 64;
  AQUA_ASSIGN(const Handle handle, gpu.create(gpu.large()));
  AQUA_ASSIGN(const CUdeviceptr slab, gpu.map({handle}, gpu.large()));
  AQUA_ASSIGN(const CUdeviceptr other, gpu.allocate(gpu.large()));
  AQUA_ASSIGN(const CUstream stream, gpu.stream());
  CUevent copied = nullptr;
  AQUA_TRY(gpu.done(gpu.cuda().EventCreate(&copied, CU_EVENT_DISABLE_TIMING), "cuEventCreate"));
  for (int i = 0; i < kCopies; ++i) {
    AQUA_TRY(gpu.done(gpu.cuda().MemcpyAsync(other, slab, gpu.large(), stream), "cuMemcpyAsync"));
  }
  AQUA_TRY(gpu.done(gpu.cuda().EventRecord(copied, stream), "cuEventRecord"));
  const auto start = Clock::now();
  AQUA_TRY(gpu.done(gpu.cuda().MemUnmap(slab, gpu.large()), "cuMemUnmap"));
  const double unmapped = microseconds_since(start);
  const CUresult after = gpu.cuda().EventQuery(copied);
  const CUresult end = gpu.cuda().StreamSynchronize(stream);
  const double all = microseconds_since(start);
  return Answer{.yes = after == CUDA_SUCCESS && end == CUDA_SUCCESS,
                .detail = concat("cuMemUnmap took ", unmapped, " us of ", all,
                                 " us of copies; then the copies: ", gpu.name_of(after),
                                 ", at their end: ", gpu.name_of(end)),
                .figures = {{"unmap_us", unmapped}, {"copies_us", all}}};
}

}  // namespace aqua::first_contact
