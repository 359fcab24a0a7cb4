// SPDX-License-Identifier: Apache-2.0
// Any bytes as a trace: read_trace() never crashes, and what it accepts keeps its promises.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "trace.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Half of the inputs start behind the header, which chance would not find.
  const bool with_header = size > 0 && data[0] % 2 == 0;
  std::string text = with_header ? "TIMESTAMP,ContextTokens,GeneratedTokens\n" : "";
  text.append(reinterpret_cast<const char*>(data), size);
  if (with_header) text.erase(text.find('\n') + 1, 1);
  std::istringstream in(text);
  const auto trace = aqua::example::read_trace(in, {.max_requests = 1000, .max_tokens = 100'000});
  if (!trace.ok()) {
    if (trace.error().code != aqua::Code::invalid_argument) std::abort();
    for (const char c : trace.error().message) {
      if (c < ' ' || c > '~') std::abort();
    }
    return 0;
  }
  if (trace->empty() || trace->size() > 1000) std::abort();
  if (trace->front().arrival.count() != 0) std::abort();
  auto last = trace->front().arrival;
  for (const auto& request : *trace) {
    if (request.arrival < last || request.prompt_tokens > 100'000) std::abort();
    if (request.output_tokens > 100'000) std::abort();
    last = request.arrival;
  }
  return 0;
}
