// SPDX-License-Identifier: Apache-2.0
#include "tests/device/cuda/stand_in/world.hpp"

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <set>

namespace aqua::stand_in {

World& world() {
  static auto* const everything = new World;
  return *everything;
}

Thread& thread() {
  thread_local Thread mine;
  return mine;
}

namespace {

// What a thread may not call while any thread captures, unless its mode is relaxed.
bool spoils_captures(const char* name) {
  static const std::set<std::string> unsafe{
      "cuMemAlloc",   "cuMemFree",          "cuMemHostAlloc",     "cuMemFreeHost",
      "cuEventQuery", "cuEventSynchronize", "cuStreamSynchronize"};
  return thread().mode != CU_STREAM_CAPTURE_MODE_RELAXED && unsafe.count(name) == 1;
}

}  // namespace

CUresult enter(const char* name, bool in_context) {
  World& w = world();
  ++w.calls[name];
  if (in_context && thread().contexts.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (w.capturing && spoils_captures(name)) {
    for (const auto& queue : w.queues) {
      if (queue->capture == Capture::active) queue->capture = Capture::invalid;
    }
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  Fault& fault = w.faults[name];
  if (fault.times == 0) return CUDA_SUCCESS;
  if (fault.good > 0) {
    --fault.good;
    return CUDA_SUCCESS;
  }
  --fault.times;
  return fault.result;
}

Ranges::const_iterator around(const Ranges& ranges, Address address) {
  const auto next = ranges.upper_bound(address);
  if (next == ranges.begin() || std::prev(next)->second <= address) return ranges.end();
  return std::prev(next);
}

bool reachable(Address address, std::size_t bytes) {
  const World& w = world();
  const Address end = address + bytes;
  while (address < end) {
    Address next = address;
    for (const Ranges* ranges : {&w.accessible, &w.registrations, &w.linear}) {
      const auto found = around(*ranges, address);
      if (found != ranges->end()) next = found->second;
    }
    if (next == address) return false;
    address = next;
  }
  return true;
}

bool pageable(Address address) {
  const World& w = world();
  for (const Ranges* ranges : {&w.reservations, &w.registrations, &w.linear, &w.engines}) {
    if (around(*ranges, address) != ranges->end()) return false;
  }
  return true;
}

void complain(const std::string& what) {
  std::fprintf(stderr, "stand-in for the CUDA driver: %s\n", what.c_str());
  ++world().complaints;
  if (!world().tolerant) std::abort();
}

}  // namespace aqua::stand_in
