// SPDX-License-Identifier: Apache-2.0
// What commands and kernels may touch.
#include <array>
#include <cstring>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "kernels/copy.hpp"
#include "tests/gpu/first_contact/check.hpp"
#include "tests/gpu/first_contact/gpu.hpp"

namespace aqua::first_contact {
namespace {

// src/device/cuda/copy.cpp posts as many pieces a call.
constexpr std::size_t kMostAtOnce = 4096;

// Drivers before 12.8 have no such call, and the library goes another way there.
bool batches(const Gpu& gpu) {
  return gpu.cuda().MemcpyBatchAsync != nullptr;
}

Result<void> copy_batch(const Gpu& gpu, std::vector<CUdeviceptr> dst, std::vector<CUdeviceptr> src,
                        std::size_t bytes, CUstream stream) {
  if (!batches(gpu)) return Error{Code::unimplemented, "this driver has no cuMemcpyBatchAsync"};
  std::vector<std::size_t> sizes(dst.size(), bytes);
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  std::size_t first = 0;
  std::size_t failed = 0;
  return gpu.done(gpu.cuda().MemcpyBatchAsync(dst.data(), src.data(), sizes.data(), sizes.size(),
                                              &attributes, &first, 1, &failed, stream),
                  "cuMemcpyBatchAsync");
}

// One copy, one batch and one memset of `bytes` that begin in the middle of one slab and end in
// the next. Empty where all three did.
Result<std::string> cross(const Gpu& gpu, CUdeviceptr slabs, std::size_t bytes) {
  AQUA_ASSIGN(const CUdeviceptr other, gpu.allocate(bytes));
  AQUA_ASSIGN(const CUstream stream, gpu.stream());
  const CUdeviceptr middle = slabs + bytes / 2;
  const auto check = [&](unsigned seed, auto queue) -> Result<bool> {
    const auto expected = pattern(bytes, seed);
    AQUA_TRY(gpu.write(other, expected));
    AQUA_TRY(queue());
    AQUA_TRY(gpu.wait(stream));
    AQUA_ASSIGN(const auto seen, gpu.read(middle, bytes));
    return seen == expected;
  };
  AQUA_ASSIGN(const bool copied, check(1, [&]() -> Result<void> {
                return gpu.done(gpu.cuda().MemcpyAsync(middle, other, bytes, stream),
                                "cuMemcpyAsync across two slabs");
              }));
  AQUA_ASSIGN(const bool batched, check(2, [&]() -> Result<void> {
                if (!batches(gpu)) return gpu.write(middle, pattern(bytes, 2));  // nothing to ask
                return copy_batch(gpu, {middle}, {other}, bytes, stream);
              }));
  AQUA_TRY(gpu.done(gpu.cuda().MemsetD8Async(middle, 0, bytes, stream),
                    "cuMemsetD8Async across two slabs"));
  AQUA_TRY(gpu.wait(stream));
  AQUA_ASSIGN(const auto zeroed, gpu.read(middle, bytes));
  std::string wrong;
  if (!copied) wrong += " copy";
  if (!batched) wrong += " batch";
  if (zeroed != std::vector<std::byte>(bytes)) wrong += " memset";
  return wrong;
}

// Registered host memory to the device and back, by a kernel; the bytes are compared.
Result<Answer> by_kernel(const Gpu& gpu, kernels::CopyKernel kernel) {
  constexpr std::size_t kPiece = std::size_t{64} << 10;
  const std::size_t bytes = gpu.granule();
  AQUA_TRY(gpu.done(static_cast<CUresult>(kernels::load_kernels()), "load_kernels"));
  AQUA_ASSIGN(std::byte* const host, gpu.registered(2 * bytes));
  AQUA_ASSIGN(const CUdeviceptr middle, gpu.allocate(bytes));
  AQUA_ASSIGN(const CUdeviceptr list, gpu.allocate(bytes / kPiece * sizeof(kernels::Segment)));
  AQUA_ASSIGN(const CUstream stream, gpu.stream());
  const auto expected = pattern(bytes, 3);
  std::memcpy(host, expected.data(), bytes);
  for (const bool back : {false, true}) {
    std::vector<kernels::Segment> segments;
    for (std::size_t at = 0; at < bytes; at += kPiece) {
      std::byte* const there = pointer_to(middle) + at;
      segments.push_back(back ? kernels::Segment{host + bytes + at, there, kPiece}
                              : kernels::Segment{there, host + at, kPiece});
    }
    kernels::CopyLaunch launch = kernels::describe(segments);
    std::vector<std::byte> raw(segments.size() * sizeof(kernels::Segment));
    std::memcpy(raw.data(), segments.data(), raw.size());
    AQUA_TRY(gpu.write(list, raw));
    launch.segments = reinterpret_cast<const kernels::Segment*>(list);
    launch.max_sms = 8;
    launch.kernel = kernel;
    AQUA_TRY(gpu.done(static_cast<CUresult>(kernels::copy_segments(launch, stream)),
                      back ? "kernel to host memory" : "kernel from host memory"));
    AQUA_TRY(gpu.wait(stream));
  }
  const bool same = std::memcmp(host + bytes, expected.data(), bytes) == 0;
  return Answer{.yes = same, .detail = same ? "there and back" : "but bytes are wrong"};
}

}  // namespace

Result<Answer> across_slabs(const Gpu& gpu) {
  const std::size_t bytes = gpu.granule();
  AQUA_ASSIGN(const Handle one, gpu.create(bytes));
  AQUA_ASSIGN(const Handle two, gpu.create(bytes));
  AQUA_ASSIGN(const Handle three, gpu.create(bytes));
  AQUA_ASSIGN(const int fd, gpu.export_fd(three));
  AQUA_ASSIGN(const Handle imported, gpu.import(fd));
  AQUA_ASSIGN(const CUdeviceptr slabs, gpu.map({one, two, imported}, bytes));
  AQUA_ASSIGN(const std::string own, cross(gpu, slabs, bytes));
  AQUA_ASSIGN(const std::string mixed, cross(gpu, slabs + bytes, bytes));
  const bool good = own.empty() && mixed.empty();
  return Answer{.yes = good,
                .detail = good ? concat("copy, ", batches(gpu) ? "batch " : "",
                                        "and memset; own slabs, own and imported")
                               : concat("wrong bytes: own", own, "; own and imported", mixed)};
}

Result<Answer> batch(const Gpu& gpu) {
  constexpr std::size_t kPiece = std::size_t{4} << 10;
  constexpr int kRounds = 16;
  AQUA_ASSIGN(std::byte* const host, gpu.pinned(kMostAtOnce * kPiece));
  AQUA_ASSIGN(const CUdeviceptr device, gpu.allocate(kMostAtOnce * kPiece));
  AQUA_ASSIGN(const CUstream stream, gpu.stream());
  const auto expected = pattern(kMostAtOnce * kPiece, 4);
  std::memcpy(host, expected.data(), expected.size());
  std::vector<CUdeviceptr> dst, src;
  for (std::size_t i = 0; i < kMostAtOnce; ++i) {
    const std::size_t place = i * 257 % kMostAtOnce;  // no two neighbours in a row
    dst.push_back(device + place * kPiece);
    src.push_back(address_of(host) + place * kPiece);
  }
  const auto start = Clock::now();
  for (int round = 0; round < kRounds; ++round) AQUA_TRY(copy_batch(gpu, dst, src, kPiece, stream));
  const double posted = microseconds_since(start);
  AQUA_TRY(gpu.wait(stream));
  const double all = microseconds_since(start);
  AQUA_ASSIGN(const auto seen, gpu.read(device, expected.size()));
  return Answer{.yes = seen == expected,
                .detail = concat(kRounds, " calls of ", kMostAtOnce, " pieces of 4 KiB: posted in ",
                                 posted / 1000, " ms, done in ", all / 1000, " ms"),
                .figures = {{"posted_us", posted}, {"done_us", all}}};
}

Result<Answer> kernel_on_host(const Gpu& gpu) {
  return by_kernel(gpu, kernels::CopyKernel::vector);
}

Result<Answer> bulk_on_host(const Gpu& gpu) {
  return by_kernel(gpu, kernels::CopyKernel::bulk);
}

}  // namespace aqua::first_contact
