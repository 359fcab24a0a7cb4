// SPDX-License-Identifier: Apache-2.0
// Does the driver do what libaqua takes for granted? first_contact is to be run before all else on
// a new kind of machine: half a minute.
//
//   first_contact|sharing_contact [--json FILE] [--mib N] [--only CHECK]
//
// Prints a line for each check: yes, no or skipped, and why; after a no, what to do. An answer of
// "no" to an assumption is marked. Exit status: 0 where every assumption holds, 1 where one does
// not, 77 without a GPU, or where nothing else could be asked.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "report/provenance.hpp"
#include "report/report_file.hpp"
#include "tests/gpu/first_contact/process.hpp"

namespace aqua::first_contact {
namespace {

using nlohmann::json;

int usage() {
  std::fprintf(stderr, "usage: %s [--json FILE] [--mib N] [--only CHECK]\n", program().name);
  return 2;
}

int ask_all(int argc, char** argv, const Options& options, const std::string& path,
            const Check* only) {
  json report = bench::provenance(argc, argv);
  report["benchmark"] = program().name;
  report["complete"] = false;
  report["answers"] = json::array();
  std::size_t yes = 0, broken = 0, skipped = 0, open = 0;
  for (const Check& check : checks()) {
    if (only != nullptr && only != &check) continue;
    const json row = ask_apart(check, options);
    const std::string answer = row.value("answer", "no");
    const bool fault = answer == "no" && check.kind == Kind::assumption;
    yes += answer == "yes" ? 1U : 0U;
    skipped += answer == "skipped" ? 1U : 0U;
    broken += fault ? 1U : 0U;
    open += answer == "no" && !fault ? 1U : 0U;
    std::printf("%-16s %-8s %s%s: %s\n", check.name, answer.c_str(), fault ? "NOT SO: " : "",
                check.asks, row.value("detail", "").c_str());
    if (answer == "no") std::printf("%-16s %-8s %s\n", "", "  then", check.otherwise);
    std::fflush(stdout);
    report["answers"].push_back(row);
    bench::write_report(path, report);
  }
  report["complete"] = true;
  // Asked last: it opens the driver here, and a check may want nobody to have it open.
  report["device"] = bench::gpu_model("cuda:0");
  bench::write_report(path, report);
  std::printf(
      "%s: %zu yes, %zu assumptions broken, %zu questions answered no, %zu "
      "skipped\n",
      program().name, yes, broken, open, skipped);
  if (broken > 0) return 1;
  return yes + open == 0 ? 77 : 0;
}

int run(int argc, char** argv) {
  Options options{.limit = program().limit};
  std::string path;
  std::string_view role;
  const Check* only = nullptr;
  const Check* here = nullptr;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (i + 1 == argc) return usage();
    const char* value = argv[++i];
    if (option == "--json") {
      path = value;
    } else if (option == "--peer") {
      role = value;
    } else if (option == "--mib") {
      options.mib = std::strtoull(value, nullptr, 10);
    } else if (option == "--only" || option == "--check") {
      (option == "--only" ? only : here) = find_check(value);
      if (find_check(value) == nullptr) return usage();
    } else {
      return usage();
    }
  }
  if (options.mib == 0) return usage();
  if (here != nullptr) return answer_here(*here, options);
  if (!role.empty()) return program().be_peer(role, options.mib);
  return ask_all(argc, argv, options, path, only);
}

}  // namespace

}  // namespace aqua::first_contact

int main(int argc, char** argv) {
  return aqua::first_contact::run(argc, argv);
}
