// SPDX-License-Identifier: Apache-2.0
// All that first_contact asks, and what follows from a no.
#include "tests/gpu/first_contact/check.hpp"
#include "tests/gpu/first_contact/gpu.hpp"

namespace aqua::first_contact {
namespace {

constexpr Check kChecks[]{
    {"pidfds", Kind::assumption, "a process can be held by a pidfd",
     "nothing can be lent here: run hbm, host, sm_budget and launches alone", pidfds},
    {"reach", Kind::assumption, "the library lets kernels near five kinds of memory",
     "its copies of what is missing fall back to one by one: believe the rows of the kernels alone",
     reach},
    {"attributes", Kind::question, "undocumented attributes of an address come in one call",
     "nothing: the library asks for each alone", attributes},
    {"device_pointers", Kind::assumption, "memory has one address, on the host and on the device",
     "no kernel may touch that kind of memory: run no step before CudaReach refuses it",
     device_pointers},
    {"pageable_memory", Kind::question, "the GPU does not reach memory of malloc",
     "kernels may take pageable memory too, slowly", pageable_memory},
    {"map_sizes", Kind::assumption, "an import maps at its exact size and no larger",
     "imports may be refused: see whether range_tells_size, and expect slab and reclaim to fail",
     map_sizes},
    {"own_import", Kind::assumption, "a process imports what it has exported",
     "devices refuse to lend when they are opened: run hbm, host, sm_budget and launches alone",
     own_import},
    {"map_twice", Kind::assumption, "a slab maps at two addresses",
     "the size check of imports fails where a slab is mapped: leave lending_process_test out",
     map_twice},
    {"across_slabs", Kind::assumption, "a command may reach across two slabs",
     "copies must be cut at slabs: leave slab, reclaim and first_token out", across_slabs},
    {"batch", Kind::assumption, "16 batches of 4096 copies end",
     "leave the step batch out; what calibrates (host, hbm, slab, planner) may hang as well",
     batch},
    {"kernel_on_host", Kind::assumption, "kernels copy registered host memory",
     "leave host and sm_budget out, and mend the reach of kernels first", kernel_on_host},
    {"bulk_on_host", Kind::assumption, "bulk copies (TMA) copy registered host memory",
     "bulk_suits in kernels/copy_shape.hpp must refuse host memory; sm_budget fails until then",
     bulk_on_host},
    {"read_only", Kind::question, "a read-only mapping cannot be written",
     "read-only maps are a promise of the borrower's alone", read_only},
    {"small_upload", Kind::question, "a small upload passes a large one of another stream",
     "nothing to change: kernels upload their own lists, which a yes would make needless",
     small_upload},
    {"unmap_waits", Kind::question, "cuMemUnmap waits for copies of the memory",
     "unmapping beside running copies loses the context: memcheck and lending_process_test matter",
     unmap_waits},
    {"map_cost", Kind::assumption, "a slab is mapped and unmapped within a millisecond",
     "a throttle for mapping is wanted: launches says how much", map_cost},
    {"forked_child", Kind::question,
     "work of a dead process is over though its child has the driver's files",
     "slabs of the dead must be made anew, never scrubbed and lent again", forked_child}};

int be_peer(std::string_view, std::size_t mib) {
  const auto gpu = Gpu::open(mib);
  if (gpu.ok()) (void)be_victim(**gpu);
  return 1;  // it is to be killed, not to return
}

constexpr Program kProgram{"first_contact", std::chrono::seconds(10), be_peer};

}  // namespace

const Program& program() {
  return kProgram;
}

std::span<const Check> checks() {
  return kChecks;
}

}  // namespace aqua::first_contact
