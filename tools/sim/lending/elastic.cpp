// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/lending/elastic.hpp"

#include <algorithm>
#include <cmath>

#include "base/try.hpp"
#include "tools/sim/engine/arrivals.hpp"
#include "tools/sim/engine/random.hpp"
#include "tools/sim/engine/world.hpp"

namespace aqua::sim {
namespace {

StreamShape stream_of(const Ground& ground, std::uint32_t prompt_tokens) {
  const CostModel& cost = ground.cost;
  const std::uint32_t layers = ground.scenario.model.layers;
  const Picos token = cost.linear(1) + cost.head(1) +
                      cost.decode_attention_per_token() * static_cast<Picos>(prompt_tokens);
  return {.layers = layers,
          .layer_bytes = ground.kv_bytes_per_token * prompt_tokens / layers,
          .layer_compute = token / layers};
}

// Poisson at the stable rate, `factor` times it from surge to settling.
Workload surge(const Trace& trace, const ElasticShape& shape, std::uint64_t seed) {
  Random random(seed);
  std::size_t at = random.below(trace.requests.size());
  Workload work;
  for (double now = 0; now < shape.end_s;) {
    TraceRequest request = trace.requests[at++ % trace.requests.size()];
    request.arrival = picos(now);
    request.hash_begin = request.hash_count = 0;
    work.requests.push_back(request);
    const bool high = now >= shape.surge_s && now < shape.settle_s;
    now += random.exponential(1 / (shape.per_second * (high ? shape.factor : 1)));
  }
  return work;
}

std::vector<double> per_second(const std::vector<Picos>& times, double end_s) {
  std::vector<double> counts(static_cast<std::size_t>(std::ceil(end_s)), 0.0);
  for (const Picos time : times) {
    const auto second = static_cast<std::size_t>(time / kPicosPerSecond);
    if (second < counts.size()) counts[second] += 1;
  }
  return counts;
}

}  // namespace

LongPromptOutcome long_prompt(const Ground& ground, const LongPromptShape& shape, Tier tier,
                              bool overlapped, PagingMethod method) {
  Network network;
  const PortLinks own = add_gpu(network, "engine", ground),
                  lender = add_gpu(network, "lender", ground);
  SlabMarket market(ground.scenario.slab_bytes, ground.cost.roof().bytes_per_second);
  StreamShape stream = stream_of(ground, shape.prompt_tokens);
  stream.overlapped = overlapped;
  stream.tokens = shape.tokens;
  const double context = stream.layer_bytes * stream.layers;
  if (tier == Tier::peer) (void)market.offer(2 * context, 0);
  LongPromptOutcome outcome{.layer_compute_s = seconds(stream.layer_compute)};
  if (tier == Tier::local) {
    outcome.tokens_per_second = outcome.closed_form = 1 / closed_form_token(stream, 0);
    return outcome;
  }
  SwapSpace swap(tier == Tier::peer ? &market.borrower() : nullptr);
  const Paging paging = paging_of(ground, method, own, lender);
  const Network::Transfer fetch = paging.transfer(tier, false, stream.layer_bytes);
  const double rate = tier == Tier::peer ? ground.nvlink.between_bytes_per_second()
                                         : ground.pcie.in_bytes_per_second;
  outcome.layer_fetch_s = seconds(fetch.delay) + fetch.bytes / rate;
  Streamer streamer(stream, paging, swap, network);
  (void)run_world(network, {&streamer});
  outcome.tokens_per_second =
      static_cast<double>(streamer.tokens().size()) / seconds(streamer.tokens().back());
  outcome.closed_form = 1 / closed_form_token(stream, outcome.layer_fetch_s);
  return outcome;
}

Result<ElasticOutcome> elastic(const Ground& lender, const Ground& borrower, const Trace& trace,
                               const ElasticShape& shape, std::uint64_t seed) {
  const Workload work = surge(trace, shape, seed);
  AQUA_ASSIGN(const PolicyName fcfs, parse_policy("fcfs"));
  ElasticOutcome outcome;
  for (const bool lends : {false, true}) {
    Network network;
    const PortLinks own = add_gpu(network, "lender", lender);
    const PortLinks far = add_gpu(network, "borrower", borrower);
    SlabMarket market(lender.scenario.slab_bytes, lender.cost.roof().bytes_per_second);
    AQUA_ASSIGN(const auto scheduler,
                schedule::make_scheduler(fcfs.scheduler, scheduler_options(lender, fcfs)));
    SwapSpace host(nullptr), swap(&market.borrower());
    EngineOptions options{.paging = paging_of(lender, PagingMethod::gathered, own, far),
                          .kv_bytes_per_token = lender.kv_bytes_per_token,
                          .block_tokens = lender.scenario.server.kv_block_tokens,
                          .visitors = {own.nvlink_in, own.nvlink_out}};
    options.paging.peer = {};  // it pages to the host; its NVLink is the visitor's
    RequestTable table(work);
    Engine engine(table, lender.cost, *scheduler, host, network, nullptr, options);
    Arrivals arrivals(work, engine);
    StreamShape stream = stream_of(borrower, shape.prompt_tokens);
    stream.start = picos(shape.start_s);
    stream.stop = picos(shape.end_s);
    stream.tokens = UINT64_MAX;
    Streamer streamer(stream, paging_of(borrower, PagingMethod::gathered, far, own), swap, network);

    const double kv = lender.kv_tokens * lender.kv_bytes_per_token;
    AQUA_ASSIGN(ProducerPolicy policy,
                ProducerPolicy::create({.steady_requests_per_second = shape.per_second,
                                        .kv_bytes_total = static_cast<std::size_t>(kv),
                                        .steady_free_bytes = static_cast<std::size_t>(
                                            std::min(kv, shape.lend_bytes))}));
    const double block = lender.kv_bytes_per_token * lender.scenario.server.kv_block_tokens;
    Lender lending(engine, market, policy, block, [&](Picos now) { streamer.rebalance(now); });
    std::vector<Actor*> actors{&arrivals, &engine};
    if (lends) actors.insert(actors.end(), {&lending, &streamer});
    if (!run_world(network, actors))
      return Error{Code::internal, "elastic: somebody waits for ever"};
    if (lends) {
      outcome.tokens_per_second = per_second(streamer.tokens(), shape.end_s);
      outcome.lender = lending.samples();
      outcome.bytes_moved = streamer.bytes_moved();
      outcome.offers = lending.offers();
      outcome.reclaims = lending.reclaims();
    }
    (lends ? outcome.lending : outcome.alone) = measure(std::move(engine).outcome(), {});
  }
  return outcome;
}

}  // namespace aqua::sim
