// SPDX-License-Identifier: Apache-2.0
// Does memory that was imported from a process stay readable and writable when that process is
// killed? Everything that libaqua promises about crashes rests on it, and it is the first thing
// to try on hardware.
//
//   exporter_death [--device cuda:0] [--bytes N] [--json]
//
// Prints one line. Exit status: 0 yes, 1 no or could not be tried, 77 no GPU here.
#include "tests/gpu/exporter_death.hpp"

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "device/cuda/device.hpp"
#include "device/cuda/name.hpp"

namespace aqua::gpu {
namespace {

constexpr int kSkipped = 77;

int report(const char* result, const std::string& reason, bool json) {
  if (json) {
    std::puts(nlohmann::json{{"test", "exporter_death"}, {"result", result}, {"reason", reason}}
                  .dump()
                  .c_str());
  } else {
    std::printf("exporter_death: %s: %s\n", result, reason.c_str());
  }
  return std::string_view(result) == "skipped" ? kSkipped : 1;
}

int report(const Answer& answer, const Question& question, bool json) {
  const auto word = [](bool yes) { return yes ? "yes" : "NO"; };
  if (json) {
    std::puts(nlohmann::json{{"test", "exporter_death"},
                             {"result", answer.good() ? "passed" : "failed"},
                             {"device", answer.device},
                             {"driver", answer.driver},
                             {"bytes", question.bytes},
                             {"readable", answer.readable},
                             {"writable", answer.writable},
                             {"kept_apart", answer.kept_apart},
                             {"returned", answer.returned},
                             {"error", answer.error}}
                  .dump()
                  .c_str());
  } else {
    std::printf(
        "exporter_death: %s (%s): after SIGKILL of the exporter readable: %s, writable: %s, apart "
        "from new memory: %s, the GPU's again once unmapped: %s%s%s\n",
        answer.device.c_str(), answer.driver.c_str(), word(answer.readable), word(answer.writable),
        word(answer.kept_apart), word(answer.returned), answer.error.empty() ? "" : "; ",
        answer.error.c_str());
  }
  return answer.good() ? 0 : 1;
}

int run(int argc, char** argv) {
  Question question;
  bool json = false;
  bool exporter = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--json") {
      json = true;
    } else if (option == "--exporter") {
      exporter = true;
    } else if (option == "--device" && i + 1 < argc) {
      question.device = argv[++i];
    } else if (option == "--bytes" && i + 1 < argc) {
      question.bytes = std::strtoull(argv[++i], nullptr, 10);
    } else {
      std::fprintf(stderr, "usage: exporter_death [--device cuda:0] [--bytes N] [--json]\n");
      return 2;
    }
  }
  if (device::is_cuda_name(question.device)) {
    if (const auto gpu = device::cuda_available(); !gpu.ok()) {
      return report("skipped", gpu.error().message, json);
    }
  }
  if (exporter) {
    const auto ended = be_exporter(question);
    if (!ended.ok()) std::fprintf(stderr, "exporter: %s\n", ended.error().message.c_str());
    return 1;  // it is to be killed, not to return
  }
  const auto answer = ask(question);
  if (!answer.ok()) return report("failed", answer.error().message, json);
  return report(*answer, question, json);
}

}  // namespace
}  // namespace aqua::gpu

int main(int argc, char** argv) {
  return aqua::gpu::run(argc, argv);
}
