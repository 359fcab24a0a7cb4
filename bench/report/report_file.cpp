// SPDX-License-Identifier: Apache-2.0
#include "report/report_file.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace aqua::bench {

using nlohmann::json;

std::string report_text(const json& report) {
  std::string text = "{";
  const char* comma = "\n ";
  for (const auto& [key, value] : report.items()) {
    text += comma;
    text += json(key).dump();
    text += ": ";
    comma = ",\n ";
    if (key != "goals") {
      for (const char c : value.dump(1)) {
        text += c;
        if (c == '\n') text += ' ';  // within strings they are escaped
      }
      continue;
    }
    text += "[";
    const char* next = "\n  ";
    for (const json& goal : value) {
      text += next;
      text += goal.dump();
      next = ",\n  ";
    }
    text += value.empty() ? "]" : "\n ]";
  }
  text += "\n}\n";
  return text;
}

void write_report(const std::string& path, const json& report) {
  if (path.empty()) return;
  const std::string beside = path + ".tmp";
  std::ofstream file(beside);
  file << report_text(report);
  file.close();
  if (file && std::rename(beside.c_str(), path.c_str()) == 0) return;
  std::perror(("cannot write " + path).c_str());
  std::exit(1);
}

}  // namespace aqua::bench
