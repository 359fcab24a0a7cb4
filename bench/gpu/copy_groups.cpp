#include "gpu/groups.hpp"
#include "gpu/staged.hpp"
#include "gpu/ways.hpp"

namespace aqua::bench {
namespace {

using kernels::CopyKernel;

void append(nlohmann::json& all, const nlohmann::json& some) {
  all.insert(all.end(), some.begin(), some.end());
}

std::vector<Way> clearing(std::vector<Way> ways, const Buffer& area) {
  for (Way& way : ways) way.cleared = {&area};
  return ways;
}

}  // namespace

nlohmann::json measure_hbm(Areas& a, Meter& meter) {
  nlohmann::json all = nlohmann::json::array();
  for (std::size_t block = 4 << 10; block <= 1 << 20; block *= 2) {
    const BlockList same({{a.tensor_out.data(), a.tensor_in.data(), a.bytes}});
    const BlockList gather = gather_list(a.tensor_out.data(), a.pool_in.data(), a.bytes, block);
    const BlockList scatter = scatter_list(a.pool_out.data(), a.tensor_in.data(), a.bytes, block);
    for (const auto* list : {&gather, &scatter}) {
      std::vector<Way> ways{bulk_copy(same), copy_kernel(*list, CopyKernel::vector, 0),
                            copy_kernel(*list, CopyKernel::bulk, 0)};
      ways = clearing(std::move(ways), list == &gather ? a.tensor_out : a.pool_out);
      ways.front().cleared = {&a.tensor_out};
      append(all, rows(meter.compare(ways), {{"group", "hbm"},
                                             {"direction", list == &gather ? "gather" : "scatter"},
                                             {"block_bytes", block}}));
    }
  }
  return all;
}

nlohmann::json measure_host(Areas& a, Meter& meter) {
  nlohmann::json all = nlohmann::json::array();
  const BlockList bulk_out({{a.host_out.data(), a.tensor_in.data(), a.bytes}});
  const BlockList bulk_in({{a.tensor_out.data(), a.host_in.data(), a.bytes}});
  for (std::size_t block = 16 << 10; block <= 2 << 20; block *= 2) {
    const BlockList out = gather_list(a.host_out.data(), a.pool_in.data(), a.bytes, block);
    const BlockList in = scatter_list(a.pool_out.data(), a.host_in.data(), a.bytes, block);
    const auto ways_of = [&](const BlockList& bulk, const BlockList& list, bool gather,
                             const Buffer& bulk_target, const Buffer& target) {
      auto ways = clearing(
          {bulk_copy(bulk), copy_each(list), copy_batch(list), staged(list, gather),
           copy_kernel(list, CopyKernel::vector, 0), copy_kernel(list, CopyKernel::vector, 16),
           copy_kernel(list, CopyKernel::bulk, 4), copy_kernel(list, CopyKernel::bulk, 16)},
          target);
      ways.front().cleared = {&bulk_target};
      return ways;
    };
    const auto offload = ways_of(bulk_out, out, true, a.host_out, a.host_out);
    const auto fetch = ways_of(bulk_in, in, false, a.tensor_out, a.pool_out);
    std::vector<Way> both;
    for (std::size_t w = 0; w < offload.size(); ++w) both.push_back(at_once(offload[w], fetch[w]));
    const auto measure = [&](const char* direction, const std::vector<Way>& ways) {
      append(all, rows(meter.compare(ways),
                       {{"group", "host"}, {"direction", direction}, {"block_bytes", block}}));
    };
    measure("offload", offload);
    measure("fetch", fetch);
    measure("both", both);
  }
  return all;
}

}  // namespace aqua::bench
