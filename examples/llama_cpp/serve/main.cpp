// SPDX-License-Identifier: Apache-2.0
// llama_serve: llama.cpp as a server under a load that comes by the clock, and a record of what
// each request, iteration and copy took. `aqua simulate --calibrate` fits its costs to one record
// and predicts another with them. With --prefix-cache: what a prefix cache gains.
#include <algorithm>
#include <cstdio>
#include <fstream>

#include "aqua/schedule/metrics.hpp"
#include "load.hpp"
#include "must.hpp"
#include "neighbour_role.hpp"
#include "prefix_comparison.hpp"
#include "program.hpp"
#include "sharing_text.hpp"
#include "verdict.hpp"

namespace aqua::llama_example {
namespace {

void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw example::Failure("cannot write " + path);
}

void record(const Model& model, const ServeOptions& options, const std::vector<Asked>& load) {
  Serving serving(model, options, load);
  MemoryParking parking(serving.engine());
  const Serving::Run run = serving.run({.parking = parking});
  const RunLog& log = run.log;
  write_text(options.json,
             to_json(log).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  if (!options.metrics.empty()) write_text(options.metrics, schedule::to_metrics(run.status));
  double end = 0;
  for (const LoggedRequest& request : log.requests) end = std::max(end, request.end);
  std::printf("%zu requests in %.1f s, %zu iterations, %zu copies\n", log.requests.size(), end,
              log.iterations.size(), log.copies.size());
  const auto [least, most] = std::minmax_element(
      log.requests.begin(), log.requests.end(),
      [](const LoggedRequest& a, const LoggedRequest& b) { return a.told_tokens < b.told_tokens; });
  if (least->told_tokens < most->told_tokens) {
    std::printf("%s was told how long answers are: %u to %u tokens\n", log.policy.c_str(),
                least->told_tokens, most->told_tokens);
  } else {
    std::printf("%s was told of each answer that it has at most %u tokens\n", log.policy.c_str(),
                most->told_tokens);
  }
  std::fputs(example::sharing_text(example::switches_of(run.status)).c_str(), stdout);
}

int run(const ServeOptions& options) {
  const Model model(options.model);
  const std::vector<Asked> load = make_load(model, options);
  if (!options.prefix_cache) {
    record(model, options, load);
    return 0;
  }
  const nlohmann::json report = compare_with_prefix_cache(model, options, load);
  if (!options.json.empty()) example::write_json(options.json, report);
  return 0;
}

}  // namespace
}  // namespace aqua::llama_example

int main(int argc, char** argv) {
  using namespace aqua::llama_example;
  using aqua::example::run_role;
  return aqua::example::run_program<ServeOptions>(
      {"llama_serve", serve_line, run_role<ServeOptions, run>, check}, argc, argv);
}
