// SPDX-License-Identifier: Apache-2.0
#include "verdict.hpp"

#include <cstdio>
#include <fstream>

#include "must.hpp"

namespace aqua::example {

void write_json(const std::filesystem::path& path, const nlohmann::json& report) {
  std::ofstream file(path);
  file << report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  file.close();
  if (!file) throw Failure("cannot write " + path.string());
}

int verdict(const std::vector<std::string>& complaints) {
  for (const std::string& complaint : complaints) {
    std::fprintf(stderr, "FAILED: %s\n", complaint.c_str());
  }
  if (complaints.empty()) std::puts("OK");
  return complaints.empty() ? 0 : 1;
}

}  // namespace aqua::example
