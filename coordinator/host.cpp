// SPDX-License-Identifier: Apache-2.0
#include "coordinator/host.hpp"

#include <sys/utsname.h>

#include <filesystem>
#include <fstream>

namespace aqua::coordinator {

Host this_host() {
  Host host;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), host.boot);
  if (host.boot.empty()) host.boot = "unknown";
  for (const char* name : {"pid", "time"}) {
    std::error_code none;  // a kernel without this namespace has but one
    const std::filesystem::path link = std::string("/proc/self/ns/") + name;
    host.namespaces += std::filesystem::read_symlink(link, none).string() + " ";
  }
  return host;
}

std::string host_name() {
  utsname names{};
  return ::uname(&names) == 0 ? names.nodename : "";
}

}  // namespace aqua::coordinator
