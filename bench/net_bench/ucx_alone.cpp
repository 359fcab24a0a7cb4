// SPDX-License-Identifier: Apache-2.0
#include "net_bench/ucx_alone.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace aqua::bench {
namespace {

constexpr int kTries = 100;     // of the side that connects, until the other one listens
constexpr int kRateColumn = 5;  // overall bandwidth, in MiB a second

// What the command has said on stdout; "" where it failed.
std::string said_by(const std::string& command) {
  std::FILE* const out = ::popen(command.c_str(), "r");
  if (out == nullptr) return "";
  std::string text;
  for (int c = std::fgetc(out); c != EOF; c = std::fgetc(out)) text.push_back(static_cast<char>(c));
  return ::pclose(out) == 0 ? text : "";
}

// The rate in the table's last line, whose columns commas divide.
double rate_in(const std::string& table) {
  const std::size_t end = table.find_last_not_of('\n');
  std::size_t at = table.rfind('\n', end) + 1;
  for (int column = 0; column < kRateColumn; ++column) at = table.find(',', at) + 1;
  return std::atof(table.c_str() + at);
}

}  // namespace

bool UcxAlone::is_installed() {
  return !said_by("command -v ucx_perftest").empty();
}

double UcxAlone::measure(std::uint64_t message_bytes, unsigned messages) const {
  constexpr double kMiB = 1 << 20;
  const std::string test = "exec env UCX_TLS=tcp ucx_perftest -p " + std::to_string(port_) +
                           " -t ucp_am_bw -f -v -w 2 -n " + std::to_string(messages) + " -s " +
                           std::to_string(message_bytes);
  std::thread listens([&] { (void)said_by(test + " 2>&1"); });
  double rate = 0;
  for (int i = 0; i < kTries && rate <= 0; ++i) {
    const std::string table = said_by(test + " 127.0.0.1 2>/dev/null");
    if (!table.empty()) rate = rate_in(table);
  }
  if (rate <= 0) {
    std::fprintf(stderr, "net_bench: ucx_perftest does not say how much it moved\n");
    std::_Exit(1);
  }
  listens.join();
  return rate * kMiB;
}

}  // namespace aqua::bench
