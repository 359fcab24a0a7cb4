// SPDX-License-Identifier: Apache-2.0
// How the stand-in is entered: cuGetProcAddress, and the calls for devices and contexts.
#include <cstdio>
#include <cstring>

#include "tests/device/cuda/stand_in/world.hpp"

namespace aqua::stand_in {
namespace {

constexpr int kDevices = 2;  // of one memory: enough to lend from one to the other

CUresult Unsupported() {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult GetErrorName(CUresult, const char** name) {
  *name = "STAND_IN";
  return CUDA_SUCCESS;
}
CUresult Init(unsigned) {
  return CUDA_SUCCESS;
}
CUresult DriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
CUresult DeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return ordinal < kDevices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult DeviceGetCount(int* count) {
  *count = kDevices;
  return CUDA_SUCCESS;
}
CUresult DeviceGetUuid(CUuuid* uuid, CUdevice device) {
  for (int i = 0; i < 16; ++i) uuid->bytes[i] = static_cast<char>(0xa0 + i + 0x20 * device);
  return CUDA_SUCCESS;
}
CUresult DeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  const Lock lock(world().mu);
  const auto told = world().variant.attributes.find(attribute);
  const int usual = attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT ? 132 : 1;
  *value = told == world().variant.attributes.end() ? usual : told->second;
  return CUDA_SUCCESS;
}
CUresult DeviceGetPciBusId(char* text, int bytes, CUdevice) {
  std::snprintf(text, static_cast<std::size_t>(bytes), "0000:ff:00.0");
  return CUDA_SUCCESS;
}
CUresult DeviceTotalMem(std::size_t* bytes, CUdevice) {
  const Lock lock(world().mu);
  *bytes = world().variant.memory_bytes;
  return CUDA_SUCCESS;
}

CUresult CanAccessPeer(int* can, CUdevice, CUdevice) {
  *can = 1;
  return CUDA_SUCCESS;
}
CUresult Retain(CUcontext* context, CUdevice device) {
  const Lock lock(world().mu);
  *context = context_of(device);
  ++world().contexts[*context];
  return CUDA_SUCCESS;
}
CUresult Release(CUdevice device) {
  const Lock lock(world().mu);
  if (--world().contexts[context_of(device)] == 0) bury(context_of(device));
  return CUDA_SUCCESS;
}
CUresult GetCurrent(CUcontext* context) {
  *context = thread().contexts.empty() ? nullptr : thread().contexts.back();
  return CUDA_SUCCESS;
}
CUresult GetDevice(CUdevice* device) {
  if (thread().contexts.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  *device = device_of(thread().contexts.back());
  return CUDA_SUCCESS;
}
CUresult PushCurrent(CUcontext context) {
  {
    const Lock lock(world().mu);
    if (const CUresult refused = enter("cuCtxPushCurrent", false)) return refused;
  }
  thread().contexts.push_back(context);
  return CUDA_SUCCESS;
}
CUresult PopCurrent(CUcontext* context) {
  (void)GetCurrent(context);
  thread().contexts.pop_back();
  return CUDA_SUCCESS;
}
CUresult ExchangeMode(CUstreamCaptureMode* mode) {
  std::swap(*mode, thread().mode);
  return CUDA_SUCCESS;
}

const std::map<std::string, void*>& device_functions() {
  static const std::map<std::string, void*> functions{
      {"cuGetErrorName", reinterpret_cast<void*>(GetErrorName)},
      {"cuGetErrorString", reinterpret_cast<void*>(GetErrorName)},
      {"cuInit", reinterpret_cast<void*>(Init)},
      {"cuDriverGetVersion", reinterpret_cast<void*>(DriverGetVersion)},
      {"cuDeviceGet", reinterpret_cast<void*>(DeviceGet)},
      {"cuDeviceGetCount", reinterpret_cast<void*>(DeviceGetCount)},
      {"cuDeviceGetUuid", reinterpret_cast<void*>(DeviceGetUuid)},
      {"cuDeviceGetAttribute", reinterpret_cast<void*>(DeviceGetAttribute)},
      {"cuDeviceGetPCIBusId", reinterpret_cast<void*>(DeviceGetPciBusId)},
      {"cuDeviceTotalMem", reinterpret_cast<void*>(DeviceTotalMem)},
      {"cuDeviceCanAccessPeer", reinterpret_cast<void*>(CanAccessPeer)},
      {"cuDevicePrimaryCtxRetain", reinterpret_cast<void*>(Retain)},
      {"cuDevicePrimaryCtxRelease", reinterpret_cast<void*>(Release)},
      {"cuCtxGetCurrent", reinterpret_cast<void*>(GetCurrent)},
      {"cuCtxGetDevice", reinterpret_cast<void*>(GetDevice)},
      {"cuCtxPushCurrent", reinterpret_cast<void*>(PushCurrent)},
      {"cuCtxPopCurrent", reinterpret_cast<void*>(PopCurrent)},
      {"cuThreadExchangeStreamCaptureMode", reinterpret_cast<void*>(ExchangeMode)}};
  return functions;
}

}  // namespace
}  // namespace aqua::stand_in

extern "C" __attribute__((visibility("default"))) CUresult aqua_stand_in_get(
    const char* symbol, void** function, int, cuuint64_t,
    CUdriverProcAddressQueryResult* found) __asm__("cuGetProcAddress_v2");

CUresult aqua_stand_in_get(const char* symbol, void** function, int, cuuint64_t,
                           CUdriverProcAddressQueryResult* found) {
  using namespace aqua::stand_in;
  *function = memory_function(symbol);
  if (*function == nullptr) *function = pointer_function(symbol);
  if (*function == nullptr) *function = stream_function(symbol);
  if (*function == nullptr) *function = work_function(symbol);
  if (*function == nullptr) {
    const auto device = device_functions().find(symbol);
    // What the stand-in does not know it has, and refuses.
    *function =
        device != device_functions().end() ? device->second : reinterpret_cast<void*>(Unsupported);
  }
  *found = CU_GET_PROC_ADDRESS_SUCCESS;
  return CUDA_SUCCESS;
}
