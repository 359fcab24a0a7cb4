// SPDX-License-Identifier: Apache-2.0
#include "play.hpp"

#include <algorithm>
#include <cstdio>

#include "block_path.hpp"
#include "disaggregate/play.hpp"
#include "measure/reclaim_plot.hpp"
#include "measure/resume_bench.hpp"
#include "must.hpp"
#include "neighbours.hpp"
#include "prefix/prefix_check.hpp"
#include "report.hpp"
#include "tensor_parking.hpp"
#include "tools/report/progress_line.hpp"
#include "verdict.hpp"

namespace aqua::llama_example {

using example::Failure;

namespace {

constexpr unsigned kBlocksPrompt = 333;  // not a whole number of blocks

std::string describe(const Progress& p) {
  return std::to_string(p.tokens) + " of " + std::to_string(p.all_tokens) + " tokens, " +
         std::to_string(p.waiting) + " waiting, " + std::to_string(p.preemptions) + " preemptions";
}
std::string describe(const Served& served) {
  char text[96];
  (void)std::snprintf(text, sizeof text, "%zu tokens in %.1f s, %zu preemptions", served.tokens,
                      served.seconds, served.preemptions);
  return text;
}

// How each run shows that it goes on.
class Shown {
 public:
  explicit Shown(const std::string& name)
      : line_(stdout, report::ProgressLine::Where::everywhere, name) {}
  void follow(const Progress& progress) {
    if (line_.due()) line_.show(describe(progress));
  }
  void end(const Served& served) { line_.end(describe(served)); }

 private:
  report::ProgressLine line_;
};

Served run(const std::string& name, Engine& engine, const std::vector<ChatRequest>& requests,
           unsigned slice, Parking* parking, ReclaimPlot* plot = nullptr) {
  Shown shown(name);
  Served served = serve(engine, requests, slice, parking, [&](const Progress& progress) {
    if (plot != nullptr) plot->follow(progress);
    shown.follow(progress);
  });
  shown.end(served);
  return served;
}

// What all tensors that are parked at once take, at most.
std::size_t tensor_bytes(const Model& model, const Options& options,
                         const std::vector<ChatRequest>& requests) {
  constexpr std::size_t kCellBytes = 16;  // of llama.cpp's own about each token
  std::size_t tokens = 0;
  for (const ChatRequest& r : requests) tokens += r.prompt.size() + r.output_tokens;
  tokens = std::max<std::size_t>(tokens, options.rounds > 0 ? options.context + 64 : 0);
  tokens = std::max<std::size_t>(tokens, 2 * kBlocksPrompt);
  return tokens * (model.kv_bytes_per_token() + kCellBytes) + requests.size() * 4096;
}

// What is parked at once at most, as the lender and the borrower have to be set up for it.
std::unique_ptr<example::Neighbours> start_neighbours(const Options& options, std::size_t parked,
                                                      const SwapNeeds& swap) {
  // A sixteenth more, and two slabs: a tensor does not fit into what smaller ones leave over.
  const std::size_t lent =
      example::whole_slabs(parked + parked / 16 + 2 * example::kNeighbourSlabBytes) +
      example::whole_slabs(swap.away_bytes);
  RuntimeOptions borrower;
  borrower.name = "llama.cpp";
  borrower.host_bytes = example::whole_slabs(lent + parked / 8);  // an exit for every tensor
  // What is outside tensors: the paged cache of the blocks' test.
  borrower.emulated.total_bytes = example::whole_slabs(2 * parked + (std::size_t{64} << 20)) +
                                  example::whole_slabs(swap.device_bytes);
  return std::make_unique<example::Neighbours>(options.role.coordinator, lent, borrower);
}

}  // namespace

int run_engine(const Options& options) {
  if (!options.json.empty())
    example::write_json(options.json, nlohmann::json::object());  // fails early
  const std::filesystem::path file = model_file(options.model);
  const Model model(file);
  const std::vector<ChatRequest> requests = make_requests(model, options);
  const unsigned longest = options.most_tokens();
  Engine engine(model, options.slots, longest, options.threads);
  std::printf("model     %s, %zu bytes of KV cache for a token\n", model.description().c_str(),
              model.kv_bytes_per_token());
  std::printf("serving   %u conversations of %u tokens on average; the KV cache holds %u\n",
              options.conversations, options.prompt_tokens + options.output_tokens, options.slots);

  RunRecord record{.options = options, .model = model, .requests = requests};
  record.unpreempted = run("unpreempted", engine, requests, options.slice, nullptr);

  if (options.disaggregate.wanted) {
    Shown shown("two processes");
    const Disaggregated apart = serve_disaggregated(
        options, file, requests, [&](const Progress& progress) { shown.follow(progress); });
    shown.end(apart.served);
    return judge(apart, record.unpreempted, options);
  }

  const SwapNeeds swap =
      options.swap_layers ? needs_of_swapping(model, options.slots, longest) : SwapNeeds{};
  const auto started = start_neighbours(options, tensor_bytes(model, options, requests), swap);
  example::Neighbours& neighbours = *started;
  std::printf("lender    process %d lends %zu MiB\n", static_cast<int>(neighbours.lender_pid()),
              neighbours.lent_bytes() >> 20);
  {
    TensorParking tensors(neighbours.runtime(), engine);
    tensors.check_bytes();
    if (options.flip) tensors.flip_a_byte();
    ReclaimPlot plot(neighbours);
    record.tensors = run("tensors", engine, requests, options.slice, &tensors, &plot);
    record.reclaim = plot.end();
    record.parking = tensors.stats();
  }
  MemoryParking memory(engine);
  record.memory = run("memory", engine, requests, options.slice, &memory);
  if (options.recompute) {
    Recomputation recomputation(engine);
    record.recomputed = run("recomputation", engine, requests, options.slice, &recomputation);
  }

  neighbours.await_leases();
  if (options.swap_layers) {
    Shown shown("layers away");
    record.swapped =
        serve_with_layers_away(neighbours.runtime(), file, model, requests, options, longest,
                               [&](const Progress& progress) { shown.follow(progress); });
    shown.end(record.swapped->served);
  }
  const unsigned most =
      std::max({options.rounds > 0 ? options.context : 0, kBlocksPrompt, kPrefixCheckTokens});
  Engine longer(model, 2, most + 64, options.threads);
  record.blocks =
      measure_blocks(neighbours.runtime(), longer, make_prompt(model, kBlocksPrompt, 1));
  record.prefixes = check_prefixes(neighbours, longer, model);
  if (options.rounds > 0) {
    record.resuming = measure_resuming(neighbours.runtime(), longer,
                                       make_prompt(model, options.context, 2), options);
  }
  const nlohmann::json report = to_json(record);
  print_summary(report);
  if (!options.json.empty()) example::write_json(options.json, report);
  return example::verdict(complaints(report));
}

}  // namespace aqua::llama_example
