// SPDX-License-Identifier: Apache-2.0
#include <iomanip>
#include <sstream>

#include "tools/sim/report/report.hpp"

namespace aqua::sim {

std::string render_csv(const Comparison& comparison) {
  std::ostringstream out;
  out << "policy,request,arrival_s,prompt_tokens,output_tokens,cached_tokens,ttft_s,tpot_s,"
         "latency_s,longest_gap_s,preemptions,refused\n"
      << std::fixed << std::setprecision(6);
  for (const PolicyRun& run : comparison.runs) {
    std::size_t number = 0;
    for (const RequestOutcome& request : run.outcome.requests) {
      out << run.policy.name << ',' << number++ << ',' << seconds(request.arrival) << ','
          << request.prompt_tokens << ',' << request.output_tokens << ',' << request.cached_tokens
          << ',';
      if (request.refused()) {
        out << ",,,,0,1\n";
        continue;
      }
      out << request.ttft() << ',' << request.tpot() << ',' << request.latency() << ','
          << seconds(request.longest_gap) << ',' << request.preemptions << ",0\n";
    }
  }
  return out.str();
}

}  // namespace aqua::sim
