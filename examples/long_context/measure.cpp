// SPDX-License-Identifier: Apache-2.0
#include "measure.hpp"

#include <string>

#include "tools/report/progress_line.hpp"

namespace aqua::long_context {

StepTimes measure(Engine& engine, Engine& resident, unsigned steps, unsigned rounds,
                  const example::StopSignals& stop) {
  StepTimes times;
  struct Measurement {
    Engine& engine;
    RunMode mode;
    const char* name;
    std::vector<double>& samples;
  };
  const Measurement all[] = {{engine, RunMode::copies, "copies alone", times.transfer},
                             {resident, RunMode::generate, "kernels alone", times.compute},
                             {engine, RunMode::generate, "overlapped", times.overlapped}};
  report::ProgressLine line(stdout, report::ProgressLine::Where::everywhere, "measuring");
  for (unsigned round = 0; round <= rounds; ++round) {
    for (const Measurement& measurement : all) {
      unsigned step = 0;
      const auto go_on = [&] {
        stop.check();
        if (line.due()) {
          line.show("round " + std::to_string(round) + " of " + std::to_string(rounds) + ", " +
                    measurement.name + ", step " + std::to_string(step) + " of " +
                    std::to_string(steps));
        }
        ++step;
        return true;
      };
      measurement.engine.run(measurement.mode, 1, go_on);
      const double seconds = measurement.engine.run(measurement.mode, steps, go_on);
      if (round > 0) measurement.samples.push_back(seconds / steps);
    }
  }
  line.end(std::to_string(rounds) + " rounds of " + std::to_string(steps) + " steps, three ways");
  return times;
}

}  // namespace aqua::long_context
