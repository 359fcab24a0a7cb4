// SPDX-License-Identifier: Apache-2.0
// The driver's calls that tell what an address is.
#include <cstring>
#include <optional>
#include <utility>

#include "tests/device/cuda/stand_in/world.hpp"

namespace aqua::stand_in {
namespace {

constexpr Address kElsewhere = Address{1} << 46;  // from host memory to where the device has it

struct Memory {
  std::pair<Address, Address> range;    // of a reservation the whole, mapped or not
  std::pair<Address, Address> mapping;  // what is memory of it
  CUmemorytype type = CU_MEMORYTYPE_DEVICE;
  Address host = 0, on_device = 0;  // of the byte asked for
  bool open = true;                 // to the device
};

std::optional<Memory> memory_at(Address at) {
  const World& w = world();
  for (const Ranges* linear : {&w.linear, &w.locked, &w.registrations}) {
    const auto found = around(*linear, at);
    if (found == linear->end()) continue;
    const bool moved = linear == &w.registrations && w.elsewhere.count(found->first) == 1;
    if (linear == &w.linear) return Memory{*found, *found, CU_MEMORYTYPE_DEVICE, 0, at};
    return Memory{*found, *found, CU_MEMORYTYPE_HOST, at, moved ? at + kElsewhere : at};
  }
  const bool open = around(w.accessible, at) != w.accessible.end();
  for (const auto& [reserved, mappings] :
       {std::pair{&w.reservations, &w.backed}, std::pair{&w.engines, &w.accessible}}) {
    const auto found = around(*reserved, at);
    const auto mapped = around(*mappings, at);
    if (found == reserved->end() || mapped == mappings->end()) continue;
    return Memory{*found, *mapped, CU_MEMORYTYPE_DEVICE, 0, at, open};
  }
  return std::nullopt;
}

// An engine's own memory is the first GPU's.
CUdevice owner_of(Address base) {
  const auto owner = world().owners.find(base);
  return owner == world().owners.end() ? 0 : device_of(owner->second);
}

bool listed(CUpointer_attribute name) {
  return name != CU_POINTER_ATTRIBUTE_ACCESS_FLAGS && name != CU_POINTER_ATTRIBUTE_MAPPING_SIZE &&
         name != CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR;
}

template <typename T>
bool put(void* value, T known) {
  std::memcpy(value, &known, sizeof known);
  return true;
}

// Zero where there is no such memory. False for what is not answered at all.
bool answer(CUpointer_attribute name, const std::optional<Memory>& memory, void* value) {
  if (world().variant.listed_attributes_only && !listed(name)) return false;
  const Memory m = memory.value_or(Memory{{}, {}, static_cast<CUmemorytype>(0), 0, 0, false});
  const bool closed = memory && around(world().read_only, m.on_device) != world().read_only.end();
  switch (name) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put(value, static_cast<unsigned>(m.type));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return put(value, m.on_device);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return put(value, m.host);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return put(value, 0U);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return put(value, m.open ? 1U : 0U);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put(value, memory ? owner_of(m.mapping.first) : CU_DEVICE_INVALID);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put(value, m.range.first);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put(value, m.range.second - m.range.first);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return put(value, m.mapping.first);
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return put(value, m.mapping.second - m.mapping.first);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return put(value,
                 static_cast<unsigned>(!m.open  ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE
                                       : closed ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ
                                                : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE));
    default:
      return false;
  }
}

CUresult GetAttributes(unsigned count, CUpointer_attribute* names, void** values, CUdeviceptr at) {
  AQUA_ENTER("cuPointerGetAttributes");
  const auto memory = memory_at(at);
  for (unsigned i = 0; i < count; ++i) {
    if (!answer(names[i], memory, values[i])) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}
CUresult GetAttribute(void* value, CUpointer_attribute name, CUdeviceptr at) {
  AQUA_ENTER("cuPointerGetAttribute");
  const auto memory = memory_at(at);
  return memory && answer(name, memory, value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
// One allocation or mapping, of device memory only.
CUresult GetAddressRange(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr at) {
  AQUA_ENTER("cuMemGetAddressRange");
  const auto memory = memory_at(at);
  if (!memory || memory->type != CU_MEMORYTYPE_DEVICE) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = memory->mapping.first;
  if (bytes != nullptr) *bytes = memory->mapping.second - memory->mapping.first;
  return CUDA_SUCCESS;
}

}  // namespace

void* pointer_function(const std::string& name) {
  static const std::map<std::string, void*> functions{
      {"cuPointerGetAttributes", reinterpret_cast<void*>(GetAttributes)},
      {"cuPointerGetAttribute", reinterpret_cast<void*>(GetAttribute)},
      {"cuMemGetAddressRange", reinterpret_cast<void*>(GetAddressRange)}};
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}

}  // namespace aqua::stand_in
