// SPDX-License-Identifier: Apache-2.0
#include "measure.hpp"

#include <string>

#include "tools/report/progress_line.hpp"

namespace aqua::long_context {

StepTimes measure(Pipeline& pipeline, unsigned steps, unsigned rounds,
                  const example::StopSignals& stop) {
  struct Measurement {
    RunMode mode;
    const char* name;
    std::vector<double> StepTimes::*samples;
  };
  constexpr Measurement kAll[] = {{RunMode::transfer, "copies alone", &StepTimes::transfer},
                                  {RunMode::compute, "kernels alone", &StepTimes::compute},
                                  {RunMode::overlapped, "overlapped", &StepTimes::overlapped},
                                  {RunMode::serial, "no prefetch", &StepTimes::serial}};
  report::ProgressLine line(stdout, report::ProgressLine::Where::everywhere, "measuring");
  StepTimes times;
  for (unsigned round = 0; round <= rounds; ++round) {
    for (const Measurement& measurement : kAll) {
      unsigned step = 0;
      const double seconds = pipeline.run(measurement.mode, steps, [&] {
        stop.check();
        ++step;
        if (line.due()) {
          line.show("round " + std::to_string(round) + " of " + std::to_string(rounds) + ", " +
                    measurement.name + ", step " + std::to_string(step) + " of " +
                    std::to_string(steps));
        }
        return true;
      });
      if (round > 0) (times.*measurement.samples).push_back(seconds / steps);
    }
  }
  line.end(std::to_string(rounds) + " rounds of " + std::to_string(steps) + " steps, four ways");
  return times;
}

}  // namespace aqua::long_context
