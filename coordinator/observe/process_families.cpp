// SPDX-License-Identifier: Apache-2.0
// The process metrics that every Prometheus client library has, under the same names.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "coordinator/observe/gauge_families.hpp"

namespace aqua::coordinator {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

void append(std::vector<MetricFamily>& families, const char* name, const char* help, double value,
            MetricType type = MetricType::Gauge) {
  MetricFamily made;
  made.name = name;
  made.help = help;
  made.type = type;
  prometheus::ClientMetric metric;
  (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  made.metric.push_back(std::move(metric));
  families.push_back(std::move(made));
}

// /proc/self/stat from its third field on; the second may hold blanks.
std::vector<std::string> stat_fields() {
  std::ifstream file("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream rest(text.substr(name_end + 1));
  return {std::istream_iterator<std::string>(rest), std::istream_iterator<std::string>()};
}

double number(const std::string& text) {
  double value = 0;
  std::istringstream(text) >> value;
  return value;
}

double boot_time() {
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("btime ")) return number(line.substr(6));
  }
  return 0;
}

}  // namespace

void append_process(std::vector<MetricFamily>& families) {
  constexpr std::size_t kUserTime = 11;  // places in stat_fields(); proc(5) counts from "pid", 1
  constexpr std::size_t kSystemTime = 12;
  constexpr std::size_t kThreads = 17;
  constexpr std::size_t kStart = 19;
  constexpr std::size_t kVirtual = 20;
  constexpr std::size_t kResident = 21;
  const auto stat = stat_fields();
  if (stat.size() > kResident) {
    const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
    append(families, "process_cpu_seconds_total", "User and system time used.",
           (number(stat[kUserTime]) + number(stat[kSystemTime])) / ticks, MetricType::Counter);
    append(families, "process_start_time_seconds", "Start, in seconds since the Unix epoch.",
           boot_time() + number(stat[kStart]) / ticks);
    append(families, "process_threads", "Threads.", number(stat[kThreads]));
    append(families, "process_virtual_memory_bytes", "Address space.", number(stat[kVirtual]));
    append(families, "process_resident_memory_bytes", "Memory resident.",
           number(stat[kResident]) * static_cast<double>(::sysconf(_SC_PAGESIZE)));
  }
  std::error_code fault;
  const std::filesystem::directory_iterator fds("/proc/self/fd", fault);
  if (!fault) {
    // One of them is the directory being read.
    append(families, "process_open_fds", "Open descriptors.",
           static_cast<double>(std::distance(begin(fds), end(fds))) - 1);
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    append(families, "process_max_fds", "Most descriptors it may have open.",
           static_cast<double>(limit.rlim_cur));
  }
}

}  // namespace aqua::coordinator
