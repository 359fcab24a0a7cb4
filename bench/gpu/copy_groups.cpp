#include <iterator>

#include "device/cuda_device.hpp"
#include "gpu/groups.hpp"
#include "gpu/lender_process.hpp"
#include "gpu/staged.hpp"
#include "gpu/ways.hpp"

namespace aqua::bench {
namespace {

using kernels::CopyKernel;
using Area = std::span<std::byte>;

void append(nlohmann::json& all, const nlohmann::json& some) {
  all.insert(all.end(), some.begin(), some.end());
}

// Memory that blocks are offloaded to and fetched from.
struct Far {
  const char* group;
  Area in, out;
  std::vector<unsigned> sms;  // numbers to try the kernels with
};

// The first way, the baseline, writes to another place than the others.
std::vector<Way> ways_to(const BlockList& bulk, Area bulk_target, const BlockList& list,
                         Area target, bool gather, const std::vector<unsigned>& sms) {
  std::vector<Way> ways{bulk_copy(bulk), copy_each(list), copy_batch(list), staged(list, gather)};
  for (const unsigned n : sms) {
    ways.push_back(copy_kernel(list, CopyKernel::vector, n));
    ways.push_back(copy_kernel(list, CopyKernel::bulk, n));
  }
  for (Way& way : ways) way.cleared = {target};
  ways.front().cleared = {bulk_target};
  return ways;
}

nlohmann::json measure_far(Areas& a, const Far& far, Meter& meter) {
  nlohmann::json all = nlohmann::json::array();
  const BlockList bulk_out({{far.out.data(), a.tensor_in.data(), a.bytes}});
  const BlockList bulk_in({{a.tensor_out.data(), far.in.data(), a.bytes}});
  for (std::size_t block = 16 << 10; block <= 2 << 20; block *= 2) {
    const BlockList out = gather_list(far.out.data(), a.pool_in.data(), a.bytes, block);
    const BlockList in = scatter_list(a.pool_out.data(), far.in.data(), a.bytes, block);
    const auto offload = ways_to(bulk_out, far.out, out, far.out, true, far.sms);
    const auto fetch = ways_to(bulk_in, a.tensor_out.area(), in, a.pool_out.area(), false, far.sms);
    std::vector<Way> both;
    for (std::size_t w = 0; w < offload.size(); ++w) both.push_back(at_once(offload[w], fetch[w]));
    const auto measure = [&](const char* direction, const std::vector<Way>& ways) {
      append(all, rows(meter.compare(ways),
                       {{"group", far.group}, {"direction", direction}, {"block_bytes", block}}));
    };
    measure("offload", offload);
    measure("fetch", fetch);
    measure("both", both);
  }
  return all;
}

}  // namespace

nlohmann::json measure_hbm(Areas& a, Meter& meter) {
  nlohmann::json all = nlohmann::json::array();
  const BlockList same({{a.tensor_out.data(), a.tensor_in.data(), a.bytes}});
  const auto measure = [&](const char* direction, const BlockList& list, Area target) {
    std::vector<Way> ways{bulk_copy(same), copy_kernel(list, CopyKernel::vector, 0),
                          copy_kernel(list, CopyKernel::bulk, 0)};
    for (Way& way : ways) way.cleared = {target};
    ways.front().cleared = {a.tensor_out.area()};
    append(all, rows(meter.compare(ways), {{"group", "hbm"},
                                           {"direction", direction},
                                           {"block_bytes", list.segments().front().bytes}}));
  };
  for (std::size_t block = 4 << 10; block <= 1 << 20; block *= 2) {
    measure("gather", gather_list(a.tensor_out.data(), a.pool_in.data(), a.bytes, block),
            a.tensor_out.area());
    measure("scatter", scatter_list(a.pool_out.data(), a.tensor_in.data(), a.bytes, block),
            a.pool_out.area());
  }
  return all;
}

nlohmann::json measure_host(Areas& a, Meter& meter) {
  return measure_far(a, {"host", a.host_in.area(), a.host_out.area(), {0, 4, 16}}, meter);
}

nlohmann::json measure_slab(Areas& a, Meter& meter) {
  const auto device = must(device::open_cuda({}));
  const LenderProcess lender(*device, 2 * a.bytes);
  const Area in(lender.slab(), a.bytes);
  const Area out(lender.slab() + a.bytes, a.bytes);
  must(fill(in.data(), in.size(), 4, nullptr));
  must(cudaDeviceSynchronize());
  return measure_far(a, {"slab", in, out, {0, 16}}, meter);
}

}  // namespace aqua::bench
