// SPDX-License-Identifier: Apache-2.0
#include "report/provenance.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace aqua::bench {
namespace {

std::string now() {
  const std::time_t t = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&t, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

nlohmann::json commit() {
  std::error_code none;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", none);
  std::ifstream file(program.parent_path() / "commit");
  std::string line;
  if (!std::getline(file, line) || line.empty()) return nullptr;
  return line;
}

}  // namespace

nlohmann::json provenance(int argc, char** argv) {
  std::string command;
  for (int i = 0; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (i > 0) command += ' ';
    command += word.substr(word.rfind('/') + 1);
  }
  return {{"date", now()}, {"command", command}, {"commit", commit()}};
}

std::string gpu_model(const std::string& name) {
  constexpr const char* kPrefix = "cuda:";
  if (!name.starts_with(kPrefix)) return name;
  // The driver is on machines with a GPU only: found when asked, as the library finds it.
  using Init = int(unsigned);
  using DeviceGet = int(int*, int);
  using DeviceGetName = int(char*, int, int);
  void* driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return name;
  auto* init = reinterpret_cast<Init*>(::dlsym(driver, "cuInit"));
  auto* get = reinterpret_cast<DeviceGet*>(::dlsym(driver, "cuDeviceGet"));
  auto* get_name = reinterpret_cast<DeviceGetName*>(::dlsym(driver, "cuDeviceGetName"));
  int device = 0;
  char model[128] = "";
  const int ordinal = std::atoi(name.c_str() + std::char_traits<char>::length(kPrefix));
  const bool told = init != nullptr && get != nullptr && get_name != nullptr && init(0) == 0 &&
                    get(&device, ordinal) == 0 && get_name(model, sizeof model, device) == 0;
  return told ? model : name;  // the driver stays loaded, as for the rest of the program
}

}  // namespace aqua::bench
