#include "device/stand_in/world.hpp"

#include <algorithm>
#include <iterator>

namespace aqua::stand_in {

World& world() {
  static auto* const everything = new World;
  return *everything;
}

Thread& thread() {
  thread_local Thread mine;
  return mine;
}

CUresult enter(const char* name, bool in_context) {
  World& w = world();
  ++w.calls[name];
  if (in_context && thread().contexts.empty()) return CUDA_ERROR_INVALID_CONTEXT;
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

namespace {

Census census() {
  World& w = world();
  const std::lock_guard<std::mutex> lock(w.mu);
  return {.allocations = w.allocations.size() + w.linear.size(),
          .reservations = w.reservations.size(),
          .mappings = w.mappings.size(),
          .registrations = w.registrations.size(),
          .streams = w.streams.size(),
          .events = w.events.size(),
          .contexts = w.contexts,
          .current_contexts = thread().contexts.size(),
          .relaxed = thread().mode == CU_STREAM_CAPTURE_MODE_RELAXED};
}

void fail(const char* name, unsigned good, unsigned times, int result) {
  const std::lock_guard<std::mutex> lock(world().mu);
  world().faults[name] = {good, times, static_cast<CUresult>(result)};
}

void capture(void* stream, bool capturing) {
  const std::lock_guard<std::mutex> lock(world().mu);
  auto& set = world().capturing;
  capturing ? (void)set.insert(static_cast<CUstream>(stream))
            : (void)set.erase(static_cast<CUstream>(stream));
}

std::size_t calls(const char* name) {
  const std::lock_guard<std::mutex> lock(world().mu);
  return world().calls[name];
}

bool ask_reachable(const void* address, std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(world().mu);
  return reachable(reinterpret_cast<Address>(address), bytes);
}

void stall(bool stalled) {
  const std::lock_guard<std::mutex> lock(world().mu);
  world().stalled = stalled;
  for (auto& [event, reached] : world().events) reached = reached || !stalled;
}

void engine_maps(void* base, std::size_t reserved, std::size_t mapped) {
  const std::lock_guard<std::mutex> lock(world().mu);
  const auto begin = reinterpret_cast<Address>(base);
  world().engines[begin] = begin + reserved;
  world().accessible[begin] = begin + mapped;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const Hooks* aqua_stand_in_hooks() {
  static const Hooks hooks{census, fail, capture, calls, ask_reachable, stall, engine_maps};
  return &hooks;
}

}  // namespace aqua::stand_in
