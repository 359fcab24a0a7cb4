// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <span>

#include "gpu/copy_tasks.hpp"
#include "gpu/groups.hpp"
#include "gpu/staged.hpp"
#include "samples.hpp"

namespace aqua::bench {
namespace {

using kernels::CopyKernel;
using Area = std::span<std::byte>;

// Which way the bytes cross the link to the host. Staged copies do; the others may stay here.
enum class Crosses : std::uint8_t { nothing, out, in };

constexpr unsigned kMatrix = 8192;
constexpr std::size_t kBlock = std::size_t{64} << 10;

// The matrix product of another stream.
class Load {
 public:
  Load() {
    must(fill(a_.data(), a_.bytes(), 7, stream_.get()));
    must(fill(b_.data(), b_.bytes(), 8, stream_.get()));
    static_cast<void>(run());
  }
  // Seconds of one product.
  double run() {
    start_.record(stream_.get());
    must(multiply(a_.data(), b_.data(), reinterpret_cast<float*>(c_.data()), kMatrix,
                  stream_.get()));
    stop_.record(stream_.get());
    stream_.synchronize();
    return stop_.seconds_since(start_);
  }

 private:
  static constexpr std::size_t kElements = std::size_t{kMatrix} * kMatrix;
  Stream stream_;
  Event start_, stop_;
  Buffer a_{Where::device, kElements * 2}, b_{Where::device, kElements * 2},
      c_{Where::device, kElements * 4};
};

double alone(Load& load) {
  std::vector<double> seconds;
  for (int i = 0; i < 5; ++i) seconds.push_back(load.run());
  return median(seconds);
}

// Seconds of products while copies run; enough copies are queued to outlast them.
std::vector<double> during(Load& load, const CopyTask& task, double copy_seconds,
                           double load_seconds) {
  const Stream copies;
  const auto rounds = std::min<std::size_t>(
      200, static_cast<std::size_t>(std::ceil(3 * load_seconds / copy_seconds)) + 2);
  std::vector<double> seconds;
  for (int i = 0; i < 5; ++i) {
    for (std::size_t r = 0; r < rounds; ++r) task.queue(copies.get());
    const double s = load.run();
    if (cudaStreamQuery(copies.get()) == cudaErrorNotReady) seconds.push_back(s);
    copies.synchronize();
  }
  return seconds;
}

}  // namespace

void measure_sm_budget(Areas& a, Meter& meter, const Sink& sink) {
  Load load;
  const auto measure = [&](const char* direction, const BlockList& bulk, Area bulk_target,
                           const BlockList& list, Area target, Crosses crosses,
                           std::initializer_list<unsigned> budgets) {
    std::vector<CopyTask> tasks{bulk_copy(bulk)};
    if (crosses != Crosses::nothing) tasks.push_back(staged(list, crosses == Crosses::out));
    for (const unsigned sms : budgets) {
      for (const auto kernel : {CopyKernel::vector, CopyKernel::bulk}) {
        tasks.push_back(copy_blocks_kernel(list, kernel, sms));
      }
    }
    for (CopyTask& task : tasks) task.cleared = {target};
    tasks.front().cleared = {bulk_target};
    const auto samples = meter.compare(tasks);
    auto some =
        rows(samples, {{"group", "sm_budget"}, {"direction", direction}, {"block_bytes", kBlock}});
    for (std::size_t w = 0; w < tasks.size(); ++w) {
      const double quiet = alone(load);
      const auto busy = during(load, tasks[w], median(samples[w].seconds), quiet);
      some[w]["matrix_seconds_alone"] = quiet;
      some[w]["matrix_samples"] = busy.size();
      if (busy.empty()) continue;
      const double loss = 1 - quiet / median(busy);
      some[w]["matrix_seconds_meanwhile"] = median(busy);
      some[w]["matrix_loss"] = loss;
      std::printf("%-22s the matrix product loses %.3f\n", tasks[w].name.c_str(), loss);
    }
    sink(some);
  };
  const BlockList gather = gather_list(a.tensor_out.data(), a.pool_in.data(), a.bytes, kBlock);
  measure("within", BlockList({{a.tensor_out.data(), a.tensor_in.data(), a.bytes}}),
          a.tensor_out.area(), gather, a.tensor_out.area(), Crosses::nothing,
          {8, 16, 24, 32, 48, 0});
  const BlockList out = gather_list(a.host_out.data(), a.pool_in.data(), a.bytes, kBlock);
  measure("offload", BlockList({{a.host_out.data(), a.tensor_in.data(), a.bytes}}),
          a.host_out.area(), out, a.host_out.area(), Crosses::out, {1, 2, 4, 16});
  const BlockList in = scatter_list(a.pool_out.data(), a.host_in.data(), a.bytes, kBlock);
  measure("fetch", BlockList({{a.tensor_out.data(), a.host_in.data(), a.bytes}}),
          a.tensor_out.area(), in, a.pool_out.area(), Crosses::in, {1, 2, 4, 8, 16});
}

}  // namespace aqua::bench
