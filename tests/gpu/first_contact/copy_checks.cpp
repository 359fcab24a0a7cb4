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

// What a kernel reads of a copy, laid side by side in the device's memory.
class Tables {
 public:
  Tables(const Gpu& gpu, CUdeviceptr at) : gpu_(gpu), at_(at) {}
  template <typename Entry>
  Result<const Entry*> lay(const std::vector<Entry>& entries) {
    std::vector<std::byte> raw(entries.size() * sizeof(Entry));
    std::memcpy(raw.data(), entries.data(), raw.size());
    AQUA_TRY(gpu_.write(at_, raw));
    const CUdeviceptr at = at_;
    at_ += (raw.size() + 255) / 256 * 256;
    return reinterpret_cast<const Entry*>(at);
  }

 private:
  const Gpu& gpu_;
  CUdeviceptr at_;
};

constexpr std::size_t kPiece = std::size_t{64} << 10;
constexpr unsigned kSms = 8;

// Queues a copy of `bytes`, whole pieces, as a list of them or as blocks in a line.
Result<void> copy_pieces(const Gpu& gpu, kernels::CopyKernel kernel, bool by_blocks, std::byte* dst,
                         std::byte* src, std::size_t bytes, Tables tables, CUstream stream) {
  const std::size_t count = bytes / kPiece;
  int queued = 0;
  if (by_blocks) {
    std::vector<std::uint32_t> ids(count);
    for (std::size_t i = 0; i < count; ++i) ids[i] = static_cast<std::uint32_t>(count - 1 - i);
    const auto side = [&](std::byte* base) -> Result<kernels::BlockSide> {
      AQUA_ASSIGN(const auto planes, tables.lay(std::vector<std::byte*>{base}));
      AQUA_ASSIGN(const auto numbers, tables.lay(ids));
      return kernels::BlockSide{.planes = planes, .ids = numbers, .block_stride = kPiece};
    };
    kernels::BlockLaunch launch{.count = count, .max_sms = kSms, .kernel = kernel};
    AQUA_ASSIGN(launch.blocks.dst, side(dst));
    AQUA_ASSIGN(launch.blocks.src, side(src));
    launch.blocks.blocks = static_cast<std::uint32_t>(count);
    launch.blocks.piece_bytes = kPiece;
    queued = kernels::copy_blocks(launch, stream);
  } else {
    std::vector<kernels::Segment> segments;
    for (std::size_t at = 0; at < bytes; at += kPiece)
      segments.push_back({dst + at, src + at, kPiece});
    kernels::CopyLaunch launch = kernels::describe(segments);
    AQUA_ASSIGN(launch.segments, tables.lay(segments));
    launch.max_sms = kSms;
    launch.kernel = kernel;
    queued = kernels::copy_segments(launch, stream);
  }
  return gpu.done(static_cast<CUresult>(queued),
                  by_blocks ? "kernel by blocks" : "kernel by a list");
}

// Registered host memory to the device and back, by a kernel, with a list of the pieces and with
// the numbers of blocks; the bytes are compared.
Result<Answer> by_kernel(const Gpu& gpu, kernels::CopyKernel kernel) {
  const std::size_t bytes = gpu.granule();
  AQUA_TRY(gpu.done(static_cast<CUresult>(kernels::load_kernels()), "load_kernels"));
  AQUA_ASSIGN(std::byte* const host, gpu.registered(2 * bytes));
  AQUA_ASSIGN(const CUdeviceptr middle, gpu.allocate(bytes));
  AQUA_ASSIGN(const CUdeviceptr tables, gpu.allocate(bytes));
  AQUA_ASSIGN(const CUstream stream, gpu.stream());
  std::string wrong;
  for (const bool by_blocks : {false, true}) {
    const auto expected = pattern(bytes, by_blocks ? 4 : 3);
    std::memcpy(host, expected.data(), bytes);
    for (const bool back : {false, true}) {
      std::byte* const there = pointer_to(middle);
      AQUA_TRY(copy_pieces(gpu, kernel, by_blocks, back ? host + bytes : there, back ? there : host,
                           bytes, Tables(gpu, tables), stream));
      AQUA_TRY(gpu.wait(stream));
    }
    if (std::memcmp(host + bytes, expected.data(), bytes) != 0)
      wrong += by_blocks ? " by blocks" : " by a list";
  }
  const bool same = wrong.empty();
  return Answer{.yes = same,
                .detail = same ? "there and back, by a list and by blocks"
                               : concat("but bytes are wrong:", wrong)};
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
  constexpr std::size_t kBatchPiece = std::size_t{4} << 10;
  constexpr int kRounds = 16;
  AQUA_ASSIGN(std::byte* const host, gpu.pinned(kMostAtOnce * kBatchPiece));
  AQUA_ASSIGN(const CUdeviceptr device, gpu.allocate(kMostAtOnce * kBatchPiece));
  AQUA_ASSIGN(const CUstream stream, gpu.stream());
  const auto expected = pattern(kMostAtOnce * kBatchPiece, 4);
  std::memcpy(host, expected.data(), expected.size());
  std::vector<CUdeviceptr> dst, src;
  for (std::size_t i = 0; i < kMostAtOnce; ++i) {
    const std::size_t place = i * 257 % kMostAtOnce;  // no two neighbours in a row
    dst.push_back(device + place * kBatchPiece);
    src.push_back(address_of(host) + place * kBatchPiece);
  }
  const auto start = Clock::now();
  for (int round = 0; round < kRounds; ++round)
    AQUA_TRY(copy_batch(gpu, dst, src, kBatchPiece, stream));
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
