// SPDX-License-Identifier: Apache-2.0
#include "tests/device/cuda/stand_in/world.hpp"

#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <new>
#include <set>

namespace aqua::stand_in {
namespace {

// A forked child has the parent's world as it was between two calls, and one thread.
void free_locks() {
  new (&world().mu) std::recursive_mutex;
  new (&world().changed) std::condition_variable_any;
}

World* make_world() {
  (void)::pthread_atfork([] { world().mu.lock(); }, [] { world().mu.unlock(); }, free_locks);
  return new World;
}

}  // namespace

World& world() {
  static auto* const everything = make_world();
  return *everything;
}

Physical::Physical(std::size_t bytes) : bytes_(bytes) {
  world().used += bytes_;
}
Physical::~Physical() {
  world().used -= bytes_;
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

// What of a context that has ended can still be given back.
bool gives_back(const std::string& name) {
  return name == "cuMemUnmap" || name == "cuMemAddressFree" || name == "cuMemRelease";
}

}  // namespace

CUresult enter(const char* name, bool in_context) {
  World& w = world();
  ++w.calls[name];
  if (in_context && thread().contexts.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (in_context) w.now_ns += w.variant.rates.call_ns;
  if (in_context && !gives_back(name)) {
    if (const CUresult ended = state_of(thread().contexts.back())) return ended;
  }
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

CUresult state_of(CUcontext context) {
  const auto found = world().ended.find(context);
  return found == world().ended.end() ? CUDA_SUCCESS : found->second;
}

CUcontext current_context() {
  return thread().contexts.empty() ? context_of(0) : thread().contexts.back();
}

void bury(CUcontext context) {
  World& w = world();
  if (w.ended.erase(context) == 0) return;
  std::erase_if(w.streams, [&](const auto& stream) { return stream.second->context == context; });
  std::erase_if(w.queues, [&](const auto& queue) { return queue->context == context; });
  std::erase_if(w.events, [&](const auto& event) { return event.second.context == context; });
  w.legacy.erase(context);
  // Mappings stay, as their slabs do, until they are given back.
  const auto goes = [&](const auto& owned) {
    return owned.second == context && w.mappings.count(owned.first) == 0;
  };
  for (const auto& owned : w.owners) {
    if (!goes(owned)) continue;
    const Address address = owned.first;
    if (w.linear.erase(address) + w.locked.erase(address) == 1) {
      delete[] reinterpret_cast<unsigned char*>(address);
    }
    w.held.erase(address);
    w.registrations.erase(address);
    w.elsewhere.erase(address);
  }
  std::erase_if(w.owners, goes);
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
    if (around(w.elsewhere, address) != w.elsewhere.end()) return false;
    for (const Ranges* ranges : {&w.accessible, &w.registrations, &w.linear, &w.locked}) {
      const auto found = around(*ranges, address);
      if (found != ranges->end()) next = found->second;
    }
    if (next == address) return false;
    address = next;
  }
  return true;
}

bool writable(Address address, std::size_t bytes) {
  const Ranges& closed = world().read_only;
  const auto next = closed.lower_bound(address);
  return reachable(address, bytes) && around(closed, address) == closed.end() &&
         (next == closed.end() || next->first >= address + bytes);
}

bool on_device(Address address) {
  const World& w = world();
  for (const Ranges* ranges : {&w.reservations, &w.linear, &w.engines}) {
    if (around(*ranges, address) != ranges->end()) return true;
  }
  return false;
}

bool pageable(Address address) {
  const World& w = world();
  return !on_device(address) && around(w.registrations, address) == w.registrations.end() &&
         around(w.locked, address) == w.locked.end();
}

void complain(const std::string& what) {
  std::fprintf(stderr, "stand-in for the CUDA driver: %s\n", what.c_str());
  World& w = world();
  ++w.complaints;
  if (!w.tolerant) std::abort();
  if (w.running != nullptr) w.ended.emplace(w.running->context, CUDA_ERROR_ILLEGAL_ADDRESS);
}

}  // namespace aqua::stand_in
