// SPDX-License-Identifier: Apache-2.0
// Any bytes as a trace, or as one of the tables that the simulator reads: never a crash, and what
// is accepted keeps its promises.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tools/sim/cost/link_fit.hpp"
#include "tools/sim/input/layer_profile.hpp"
#include "tools/sim/input/spec_json.hpp"
#include "tools/sim/input/trace.hpp"

namespace {

using namespace aqua::sim;

void require(bool good) {
  if (!good) std::abort();
}

// Errors go to terminals.
void require_plain(const std::string& message) {
  for (const char c : message) require(c >= ' ' && c <= '~');
}

void check_trace(const std::string& text) {
  constexpr TraceLimits kLimits{.max_requests = 1000, .max_tokens = 100'000};
  const auto trace = read_trace(text, kLimits);
  if (!trace.ok()) {
    require(trace.error().code == aqua::Code::invalid_argument);
    require_plain(trace.error().message);
    return;
  }
  require(!trace->requests.empty() && trace->requests.size() <= kLimits.max_requests);
  require(trace->requests.front().arrival == 0);
  Picos last = 0;
  for (const TraceRequest& request : trace->requests) {
    require(request.arrival >= last);
    require(request.prompt_tokens >= 1 && request.prompt_tokens <= kLimits.max_tokens);
    require(request.output_tokens >= 1 && request.output_tokens <= kLimits.max_tokens);
    require(trace->blocks_of(request).size() == request.hash_count);
    last = request.arrival;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  // Headers that chance would not find.
  switch (data[0] % 8) {
    case 0:
      check_trace("TIMESTAMP,ContextTokens,GeneratedTokens\n" + text);
      break;
    case 1:
      check_trace("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n" + text);
      break;
    case 2:
      check_trace("num_prefill_tokens,num_decode_tokens\n" + text);
      break;
    case 3:
      check_trace(R"({"timestamp": 0, "input_length": 600, "output_length": 1, "hash_ids": [1]})"
                  "\n" +
                  text);
      break;
    case 4: {
      const auto transfers =
          read_send_recv("time_stats.send_recv.median,size,devices_per_node\n" + text, 2);
      if (transfers.ok()) (void)fit_link(*transfers);
      break;
    }
    case 5:
      (void)parse_model(text);
      break;
    case 6:
      (void)parse_server(text);
      break;
    default:
      check_trace(text);
  }
  return 0;
}
