// SPDX-License-Identifier: Apache-2.0
// How fast work is on part of the multiprocessors. A matrix product stands for prefill, reading
// memory for decode: what SmShares and the simulator assume of the two is beside each figure.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "gpu/groups.hpp"
#include "gpu/shares/green_contexts.hpp"
#include "gpu/shares/kernels.hpp"
#include "samples.hpp"
#include "tools/sim/share/shared_gpu.hpp"

namespace aqua::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kMatrix = 8192;  // 4,096 blocks: the last wave hardly counts
constexpr std::size_t kMostSms = 1024;

struct Work {
  const char* phase;
  std::function<void(CUstream)> queue;
  double bytes;  // that it moves; 0: does not count
  sharing::SpeedCurve assumed;
  double whole = 0;  // seconds, with all multiprocessors
};

double once(const Work& work, CUstream stream) {
  const auto start = Clock::now();
  work.queue(stream);
  must(cudaStreamSynchronize(stream));
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// With this part, and nothing beside it.
std::vector<double> alone(const Work& work, const SmPart& part, unsigned repetitions) {
  std::vector<double> seconds;
  (void)once(work, part.stream());
  for (unsigned i = 0; i < repetitions; ++i) seconds.push_back(once(work, part.stream()));
  return seconds;
}

// While the other work runs on the other part. Only times that it outlasted count.
std::vector<double> beside(const Work& work, const SmPart& part, const Work& other,
                           const SmPart& rest, unsigned repetitions) {
  const double mine = once(work, part.stream()), theirs = once(other, rest.stream());
  const auto rounds =
      std::min<std::size_t>(100, static_cast<std::size_t>(std::ceil(3 * mine / theirs)) + 2);
  std::vector<double> seconds;
  for (unsigned i = 0; i < repetitions; ++i) {
    for (std::size_t r = 0; r < rounds; ++r) other.queue(rest.stream());
    const double s = once(work, part.stream());
    if (cudaStreamQuery(rest.stream()) == cudaErrorNotReady) seconds.push_back(s);
    must(cudaStreamSynchronize(rest.stream()));
  }
  return seconds;
}

nlohmann::json row(const Work& work, unsigned sms, unsigned all, const char* meanwhile,
                   const std::vector<double>& seconds) {
  const double share = static_cast<double>(sms) / all;
  nlohmann::json row{
      {"group", "green_contexts"}, {"phase", work.phase},      {"sms", sms}, {"share", share},
      {"beside", meanwhile},       {"samples", seconds.size()}};
  if (seconds.empty()) return row;
  row["seconds"] = median(seconds);
  row["seconds_quartiles"] = {quantile(seconds, 0.25), quantile(seconds, 0.75)};
  row["speed"] = work.whole / median(seconds);
  row["assumed_speed"] = sharing::speed_at(work.assumed, share);
  if (work.bytes > 0) row["bytes_per_second"] = work.bytes / median(seconds);
  std::printf(
      "green_contexts %-8s %4u of %u SMs, beside %-8s %9.3f ms, speed %.3f (assumed %.3f)\n",
      work.phase, sms, all, meanwhile, 1e3 * median(seconds), work.whole / median(seconds),
      sharing::speed_at(work.assumed, share));
  return row;
}

// Multiprocessors that both parts' kernels ran on, side by side. Any is a division that is none.
nlohmann::json disjoint(const SmParts& parts) {
  const Buffer seen(Where::host, 2 * kMostSms * sizeof(unsigned));
  auto* const one = reinterpret_cast<unsigned*>(seen.data());
  unsigned* const two = one + kMostSms;
  std::fill(one, two + kMostSms, 0U);
  must(note_multiprocessors(one, parts.part().stream()));
  must(note_multiprocessors(two, parts.rest()->stream()));
  must(cudaStreamSynchronize(parts.part().stream()));
  must(cudaStreamSynchronize(parts.rest()->stream()));
  const auto in_one = std::count(one, two, 1U), in_two = std::count(two, two + kMostSms, 1U);
  std::size_t both = 0;
  for (std::size_t i = 0; i < kMostSms; ++i) both += one[i] == 1 && two[i] == 1 ? 1U : 0U;
  if (both != 0) {
    std::fprintf(stderr, "gpu_bench: %zu multiprocessors are in both parts\n", both);
    std::exit(1);
  }
  return {{"group", "green_contexts"},       {"sms", parts.part().sms()}, {"sms_seen", in_one},
          {"rest_sms", parts.rest()->sms()}, {"rest_sms_seen", in_two},   {"in_both", both}};
}

}  // namespace

Result<void> measure_green_contexts(Areas& areas, unsigned repetitions, const Sink& sink) {
  constexpr std::size_t kElements = std::size_t{kMatrix} * kMatrix;
  const Buffer a(Where::device, kElements * 2), b(Where::device, kElements * 2),
      c(Where::device, kElements * 4), sum(Where::device, sizeof(unsigned));
  // Some milliseconds; not so many launches that a hundred of them fill the driver's queue.
  const auto reads = std::clamp<std::size_t>((std::size_t{4} << 30) / areas.bytes, 1, 8);
  const sim::SharingProfile assumed;
  Work prefill{
      "prefill",
      [&](CUstream stream) {
        must(multiply(a.data(), b.data(), reinterpret_cast<float*>(c.data()), kMatrix, stream));
      },
      0, assumed.prefill.speed};
  Work decode{"decode",
              [&](CUstream stream) {
                for (std::size_t i = 0; i < reads; ++i)
                  must(read_all(areas.pool_in.data(), areas.bytes,
                                reinterpret_cast<unsigned*>(sum.data()), stream));
              },
              static_cast<double>(reads * areas.bytes), assumed.decode.speed};
  auto functions = load_green_functions();
  if (!functions.ok()) return functions.error();
  auto whole = SmParts::whole(*functions);
  if (!whole.ok()) return whole.error();
  const unsigned all = whole->part().sms();
  for (Work* const work : {&prefill, &decode}) {
    const auto seconds = alone(*work, whole->part(), repetitions);
    work->whole = median(seconds);
    sink(nlohmann::json::array({row(*work, all, all, "nothing", seconds)}));
  }
  for (unsigned tenths = 1; tenths < 10; ++tenths) {
    auto parts = SmParts::divide(*functions, (tenths * all + 5) / 10);
    if (!parts.ok()) return parts.error();
    const SmPart& part = parts->part();
    auto rows = nlohmann::json::array();
    for (const Work* const work : {&prefill, &decode})
      rows.push_back(row(*work, part.sms(), all, "nothing", alone(*work, part, repetitions)));
    if (const SmPart* const rest = parts->rest()) {
      rows.push_back(disjoint(*parts));
      rows.push_back(row(prefill, part.sms(), all, decode.phase,
                         beside(prefill, part, decode, *rest, repetitions)));
      rows.push_back(row(decode, rest->sms(), all, prefill.phase,
                         beside(decode, *rest, prefill, part, repetitions)));
    }
    sink(rows);
  }
  return {};
}

}  // namespace aqua::bench
