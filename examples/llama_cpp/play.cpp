#include "play.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "block_path.hpp"
#include "must.hpp"
#include "reclaim_plot.hpp"
#include "report.hpp"
#include "resume_bench.hpp"
#include "tensor_parking.hpp"

namespace aqua::llama_example {

using example::Failure;

namespace {

constexpr unsigned kBlocksPrompt = 333;  // not a whole number of blocks

// A line that is rewritten in place on a terminal, and one every few seconds elsewhere.
class Line {
 public:
  explicit Line(std::string name)
      : name_(std::move(name)), terminal_(::isatty(STDOUT_FILENO) == 1) {}
  void show(const Progress& p) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(terminal_ ? 200 : 5000);
    std::printf("%s%-13s %zu of %zu tokens, %zu waiting, %zu preemptions%s",
                terminal_ ? "\r\033[K" : "", name_.c_str(), p.tokens, p.all_tokens, p.waiting,
                p.preemptions, terminal_ ? "" : "\n");
    std::fflush(stdout);
  }
  void end(const Served& served) const {
    std::printf("%s%-13s %zu tokens in %.1f s, %zu preemptions\n", terminal_ ? "\r\033[K" : "",
                name_.c_str(), served.tokens, served.seconds, served.preemptions);
    std::fflush(stdout);
  }

 private:
  std::string name_;
  bool terminal_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now();
};

Served run(const std::string& name, Engine& engine, const std::vector<Request>& requests,
           unsigned slice, Parking* parking, ReclaimPlot* plot = nullptr) {
  Line line(name);
  Served served = serve(engine, requests, slice, parking, [&](const Progress& progress) {
    if (plot != nullptr) plot->follow(progress);
    line.show(progress);
  });
  line.end(served);
  return served;
}

std::filesystem::path model_of(const Options& options) {
  if (!options.model.empty()) return options.model;
  const char* named = std::getenv("AQUA_LLAMA_MODEL");  // NOLINT(concurrency-mt-unsafe): at start
  if (named == nullptr) throw Failure("no --model and no $AQUA_LLAMA_MODEL; see --help");
  return named;
}

// What all tensors that are parked at once take, at most.
std::size_t tensor_bytes(const Model& model, const Options& options,
                         const std::vector<Request>& requests) {
  constexpr std::size_t kCellBytes = 16;  // of llama.cpp's own about each token
  std::size_t tokens = 0;
  for (const Request& r : requests) tokens += r.prompt.size() + r.output_tokens;
  tokens = std::max<std::size_t>(tokens, options.rounds > 0 ? options.context + 64 : 0);
  tokens = std::max<std::size_t>(tokens, 2 * kBlocksPrompt);
  return tokens * (model.kv_bytes_per_token() + kCellBytes) + requests.size() * 4096;
}

void write_json(const std::filesystem::path& path, const nlohmann::json& report) {
  std::ofstream file(path);
  // The sample of a model of random weights is no UTF-8.
  file << report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  file.close();
  if (!file) throw Failure("cannot write " + path.string());
}

}  // namespace

int run_engine(const Options& options) {
  if (!options.json.empty()) write_json(options.json, nlohmann::json::object());  // fails early
  const Model model(model_of(options));
  const std::vector<Request> requests = make_requests(model, options);
  const unsigned longest = options.prompt_tokens * 3 / 2 + options.output_tokens + 1;
  Engine engine(model, options.slots, longest, options.threads);
  std::printf("model     %s, %zu bytes of KV cache for a token\n", model.description().c_str(),
              model.kv_bytes_per_token());
  std::printf("serving   %u conversations of %u tokens on average; the KV cache holds %u\n",
              options.conversations, options.prompt_tokens + options.output_tokens, options.slots);

  Outcome outcome{.options = options, .model = model, .requests = requests};
  outcome.unpreempted = run("unpreempted", engine, requests, options.slice, nullptr);

  Neighbours neighbours(options, tensor_bytes(model, options, requests));
  std::printf("lender    process %d lends %zu MiB\n", static_cast<int>(neighbours.lender_pid()),
              neighbours.lent_bytes() >> 20);
  {
    TensorParking tensors(neighbours.runtime(), engine);
    tensors.check_bytes();
    if (options.flip) tensors.flip_a_byte();
    ReclaimPlot plot(neighbours);
    outcome.tensors = run("tensors", engine, requests, options.slice, &tensors, &plot);
    outcome.reclaim = plot.end();
    outcome.parking = tensors.stats();
  }
  MemoryParking memory(engine);
  outcome.memory = run("memory", engine, requests, options.slice, &memory);
  if (options.recompute) {
    Recomputation recomputation(engine);
    outcome.recomputed = run("recomputation", engine, requests, options.slice, &recomputation);
  }

  neighbours.await_leases();
  const unsigned most = std::max(options.rounds > 0 ? options.context : 0, kBlocksPrompt);
  Engine longer(model, 2, most + 64, options.threads);
  outcome.blocks =
      measure_blocks(neighbours.runtime(), longer, make_prompt(model, kBlocksPrompt, 1));
  if (options.rounds > 0) {
    outcome.resuming = measure_resuming(neighbours.runtime(), longer,
                                        make_prompt(model, options.context, 2), options);
  }
  const nlohmann::json report = to_json(outcome);
  print_summary(report);
  if (!options.json.empty()) write_json(options.json, report);
  const auto wrong = complaints(report);
  for (const std::string& complaint : wrong)
    std::fprintf(stderr, "FAILED: %s\n", complaint.c_str());
  if (wrong.empty()) std::puts("OK");
  return wrong.empty() ? 0 : 1;
}

}  // namespace aqua::llama_example
