// SPDX-License-Identifier: Apache-2.0
// What the driver says of addresses: CudaReach asks it which memory a kernel can reach.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "device/cuda/reach.hpp"
#include "tests/gpu/first_contact/check.hpp"
#include "tests/gpu/first_contact/gpu.hpp"

namespace aqua::first_contact {
namespace {

struct Memory {
  const char* kind;
  CUdeviceptr address;
};

// A piece of each kind that a transfer meets.
Result<std::vector<Memory>> every_kind(const Gpu& gpu) {
  const std::size_t bytes = gpu.granule();
  AQUA_ASSIGN(const Handle ours, gpu.create(bytes));
  AQUA_ASSIGN(const Handle exported, gpu.create(bytes));
  AQUA_ASSIGN(const int fd, gpu.export_fd(exported));
  AQUA_ASSIGN(const Handle imported, gpu.import(fd));
  AQUA_ASSIGN(const CUdeviceptr slab, gpu.map({ours}, bytes));
  AQUA_ASSIGN(const CUdeviceptr borrowed, gpu.map({imported}, bytes));
  AQUA_ASSIGN(const CUdeviceptr linear, gpu.allocate(bytes));
  AQUA_ASSIGN(const std::byte* const pinned, gpu.pinned(bytes));
  AQUA_ASSIGN(const std::byte* const registered, gpu.registered(bytes));
  return std::vector<Memory>{{"cuMemAlloc", linear},
                             {"cuMemHostAlloc", address_of(pinned)},
                             {"registered memfd", address_of(registered)},
                             {"mapped slab", slab},
                             {"imported slab", borrowed}};
}

// What cuda.h does not list for a call that asks for several, and the range that it does.
struct Reach {
  unsigned access = 0;
  CUdeviceptr start = 0, mapping = 0;
  std::size_t size = 0, mapping_size = 0;
};

struct Name {
  const char* text;
  CUpointer_attribute attribute;
};
constexpr std::array<Name, 5> kNames{{{"ACCESS_FLAGS", CU_POINTER_ATTRIBUTE_ACCESS_FLAGS},
                                      {"RANGE_START_ADDR", CU_POINTER_ATTRIBUTE_RANGE_START_ADDR},
                                      {"RANGE_SIZE", CU_POINTER_ATTRIBUTE_RANGE_SIZE},
                                      {"MAPPING_BASE_ADDR", CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR},
                                      {"MAPPING_SIZE", CU_POINTER_ATTRIBUTE_MAPPING_SIZE}}};

CUresult ask(const Gpu& gpu, CUdeviceptr at, Reach& reach) {
  std::array<CUpointer_attribute, 5> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kNames[i].attribute;
  std::array<void*, 5> values{&reach.access, &reach.start, &reach.size, &reach.mapping,
                              &reach.mapping_size};
  return gpu.cuda().PointerGetAttributes(5, names.data(), values.data(), at);
}

// Which names a call that asks for one alone refuses.
std::string refused_alone(const Gpu& gpu, CUdeviceptr at) {
  std::string refused;
  for (Name name : kNames) {
    std::uint64_t value = 0;
    void* place = &value;
    if (gpu.cuda().PointerGetAttributes(1, &name.attribute, &place, at) != CUDA_SUCCESS)
      refused += concat(' ', name.text);
  }
  return refused.empty() ? " none" : refused;
}

}  // namespace

Result<Answer> reach(const Gpu& gpu) {
  AQUA_ASSIGN(const auto memory, every_kind(gpu));
  const device::RegionSet nothing_of_ours;
  Answer answer{.yes = true};
  for (const auto& [kind, address] : memory) {
    const std::array run{
        device::CopySegment{pointer_to(address), pointer_to(address), gpu.granule()}};
    const bool covered = device::CudaReach(gpu.cuda(), nothing_of_ours).covers(run);
    answer.figures[kind] = covered;
    if (covered) continue;
    answer.yes = false;
    answer.detail += concat(answer.detail.empty() ? "not " : ", not ", kind);
  }
  if (answer.yes) answer.detail = "five kinds of memory";
  return answer;
}

Result<Answer> attributes(const Gpu& gpu) {
  AQUA_ASSIGN(const auto memory, every_kind(gpu));
  Answer answer{.yes = true};
  for (const auto& [kind, address] : memory) {
    Reach reach;
    const CUresult asked = ask(gpu, address, reach);
    const bool good = asked == CUDA_SUCCESS &&
                      reach.access == CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE &&
                      std::max(reach.size, reach.mapping_size) >= gpu.granule();
    answer.figures[kind] = {{"result", gpu.name_of(asked)},
                            {"access", reach.access},
                            {"range_bytes", reach.size},
                            {"mapping_bytes", reach.mapping_size},
                            {"covered", good}};
    if (good) continue;
    answer.yes = false;
    answer.detail +=
        concat(answer.detail.empty() ? "" : "; ", kind, ": ", gpu.name_of(asked), ", access ",
               reach.access, ", alone refused:", refused_alone(gpu, address));
  }
  if (answer.yes) answer.detail = "five kinds of memory";
  return answer;
}

Result<Answer> device_pointers(const Gpu& gpu) {
  AQUA_ASSIGN(const auto memory, every_kind(gpu));
  Answer answer{.yes = true};
  for (const auto& [kind, address] : memory) {
    CUpointer_attribute name = CU_POINTER_ATTRIBUTE_DEVICE_POINTER;
    CUdeviceptr told = 0;
    void* place = &told;
    const CUresult asked = gpu.cuda().PointerGetAttributes(1, &name, &place, address);
    answer.figures[kind] = told == address;
    if (asked == CUDA_SUCCESS && told == address) continue;
    answer.yes = false;
    answer.detail += concat(answer.detail.empty() ? "" : "; ", kind, " has another one (",
                            gpu.name_of(asked), ")");
  }
  if (answer.yes) answer.detail = "five kinds of memory";
  return answer;
}

Result<Answer> pageable_memory(const Gpu& gpu) {
  const auto memory = std::make_unique<std::byte[]>(gpu.granule());
  Reach reach;
  const CUresult asked = ask(gpu, address_of(memory.get()), reach);
  const int hmm = gpu.attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
  const bool covered =
      asked == CUDA_SUCCESS && reach.access == CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
  return Answer{.yes = hmm == 0 && !covered,
                .detail = concat("pageable access by attribute: ", hmm,
                                 ", by address: ", gpu.name_of(asked), ", access ", reach.access),
                .figures = {{"attribute", hmm}, {"covered", covered}}};
}

}  // namespace aqua::first_contact
