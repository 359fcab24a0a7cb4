// SPDX-License-Identifier: Apache-2.0
// The driver's calls for work. Sources are read when it runs; of pageable memory the driver
// promises neither that it is read during the call nor that it is not, so that is drawn.
#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/device/cuda/stand_in/world.hpp"

namespace aqua::stand_in {
namespace {

struct Copy {
  Address dst = 0, src = 0;
  std::size_t bytes = 0;
  std::shared_ptr<std::vector<unsigned char>> staged{};  // the source as it was at the call
};

// Pitfall 11: a command may not reach across the end of a registration.
bool straddles(Address address, std::size_t bytes) {
  for (const auto& [begin, end] : world().registrations) {
    if ((address < begin && begin < address + bytes) || (address < end && end < address + bytes)) {
      return true;
    }
  }
  return false;
}
bool good(const Copy& c) {
  return c.bytes != 0 && !straddles(c.dst, c.bytes) && !straddles(c.src, c.bytes);
}

enum class Access : std::uint8_t { read, write };

bool faults(Address address, std::size_t bytes, Access access) {
  const Ranges& reserved = world().reservations;
  if (around(reserved, address) == reserved.end()) return false;
  if (!reachable(address, bytes)) {
    complain("work touches reserved addresses where nothing is mapped");
    return true;
  }
  if (access == Access::read || writable(address, bytes)) return false;
  complain("work writes to memory that is mapped to be read");
  return true;
}
void run(const Copy& c) {
  const bool staged = c.staged != nullptr;
  if (faults(c.dst, c.bytes, Access::write)) return;
  if (!staged && faults(c.src, c.bytes, Access::read)) return;
  std::memmove(reinterpret_cast<void*>(c.dst),
               staged ? c.staged->data() : reinterpret_cast<const void*>(c.src), c.bytes);
}
void stage(Copy& c) {
  const auto* src = reinterpret_cast<const unsigned char*>(c.src);
  c.staged = std::make_shared<std::vector<unsigned char>>(src, src + c.bytes);
}
void add(Extents& touches, const Copy& c) {
  touches.emplace_back(c.dst, c.dst + c.bytes);
  if (c.staged == nullptr) touches.emplace_back(c.src, c.src + c.bytes);
}
bool toss() {
  return world().random() % 2 == 0;
}

CUresult MemcpyAsync(CUdeviceptr dst, CUdeviceptr src, std::size_t bytes, CUstream stream) {
  AQUA_ENTER("cuMemcpyAsync");
  std::shared_ptr<Queue> queue;
  if (const CUresult refused = find_queue(stream, &queue)) return refused;
  Copy copy{dst, src, bytes};
  if (!good(copy)) return CUDA_ERROR_INVALID_VALUE;
  if (queue->capture != Capture::none) return CUDA_SUCCESS;
  const bool both = pageable(src) && pageable(dst);
  if (pageable(src) && !both && toss()) stage(copy);
  Task task{.run = [copy] { run(copy); }, .load = load_of_copy(dst, src, bytes)};
  add(task.touches, copy);
  if (const CUresult refused = post(lock, queue, std::move(task))) return refused;
  return both || (pageable(dst) && toss()) ? finish(lock, queue) : CUDA_SUCCESS;
}

CUresult MemcpyBatch(CUdeviceptr* dst, CUdeviceptr* src, std::size_t* bytes, std::size_t count,
                     CUmemcpyAttributes* attributes, std::size_t* first, std::size_t kinds,
                     std::size_t* failed, CUstream stream) {
  AQUA_ENTER("cuMemcpyBatchAsync");
  if (stream == nullptr || stream == CU_STREAM_LEGACY || kinds != 1 || *first != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::shared_ptr<Queue> queue;
  if (const CUresult refused = find_queue(stream, &queue)) return refused;
  if (queue->capture != Capture::none) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  // Any other order is free to read the sources now.
  const bool ordered = attributes->srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  auto copies = std::make_shared<std::vector<Copy>>();
  Task task;
  for (*failed = 0; *failed < count; ++*failed) {
    Copy copy{dst[*failed], src[*failed], bytes[*failed]};
    if (!good(copy)) return CUDA_ERROR_INVALID_VALUE;
    if (!ordered) stage(copy);
    add(task.touches, copy);
    add(task.load, load_of_copy(copy.dst, copy.src, copy.bytes));
    copies->push_back(std::move(copy));
  }
  std::shuffle(copies->begin(), copies->end(), world().random);  // unordered among themselves
  task.run = [copies] { std::for_each(copies->begin(), copies->end(), run); };
  return post(lock, queue, std::move(task));
}

CUresult set_zero(Lock& lock, CUdeviceptr dst, std::size_t bytes, CUstream stream) {
  std::shared_ptr<Queue> queue;
  if (const CUresult refused = find_queue(stream, &queue)) return refused;
  const auto work = [dst, bytes] {
    if (!faults(dst, bytes, Access::write)) std::memset(reinterpret_cast<void*>(dst), 0, bytes);
  };
  return post(lock, queue,
              {.run = work,
               .touches = {{dst, dst + bytes}},
               .load = {.engine = Engine::within, .memory_bytes = bytes}});
}
CUresult MemsetD8(CUdeviceptr dst, unsigned char value, std::size_t bytes, CUstream stream) {
  AQUA_ENTER("cuMemsetD8Async");
  return value != 0 ? CUDA_ERROR_INVALID_VALUE : set_zero(lock, dst, bytes, stream);
}
CUresult MemsetD32(CUdeviceptr dst, unsigned value, std::size_t words, CUstream stream) {
  AQUA_ENTER("cuMemsetD32Async");
  if (dst % 4 != 0 || value != 0) return CUDA_ERROR_INVALID_VALUE;
  return set_zero(lock, dst, 4 * words, stream);
}

}  // namespace

void* work_function(const std::string& name) {
  static const std::map<std::string, void*> functions{
      {"cuMemcpyAsync", reinterpret_cast<void*>(MemcpyAsync)},
      {"cuMemcpyBatchAsync", reinterpret_cast<void*>(MemcpyBatch)},
      {"cuMemsetD8Async", reinterpret_cast<void*>(MemsetD8)},
      {"cuMemsetD32Async", reinterpret_cast<void*>(MemsetD32)}};
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}

}  // namespace aqua::stand_in
