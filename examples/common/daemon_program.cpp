// SPDX-License-Identifier: Apache-2.0
#include "daemon_program.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include "must.hpp"

namespace aqua::example {
namespace {

// `built_in`: its folder in a build, from that of an example.
std::filesystem::path find_program(const std::string& name, const std::string& built_in) {
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const auto& place : {here / name, here / built_in / name}) {
    if (std::filesystem::exists(place)) return place;
  }
  throw Failure("no " + name + " near " + here.string() + ": build that target too, or name it");
}

[[noreturn]] void become(const std::string& program, std::vector<std::string> arguments) {
  std::vector<char*> pointers{const_cast<char*>(program.c_str())};  // NOLINT(*-const-cast)
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::execv(program.c_str(), pointers.data());
  throw Failure(program + ": " + std::strerror(errno));
}

}  // namespace

std::string coordinator_address(const std::filesystem::path& directory) {
  return "unix:" + (directory / "coordinator.sock").string();
}

std::string keeper_socket(const std::filesystem::path& directory) {
  return directory / "keeper.sock";
}

void become_coordinator(const std::filesystem::path& given, const std::filesystem::path& directory,
                        const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"--listen",    coordinator_address(directory),
                                     "--data",      directory / "coordinator",
                                     "--log-level", "error"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  become(given.empty() ? find_program("aqua-coordinator", "../../coordinator")
                       : std::filesystem::absolute(given),
         std::move(arguments));
}

void become_courier(const std::filesystem::path& given, const std::filesystem::path& config) {
  become(given.empty() ? find_program("aqua-courier", "../../tools/courier")
                       : std::filesystem::absolute(given),
         {"--config", config});
}

void become_keeper(const std::filesystem::path& given, const std::filesystem::path& directory) {
  become(given.empty() ? find_program("aqua-keeper", "../../tools/keeper")
                       : std::filesystem::absolute(given),
         {"--socket", keeper_socket(directory)});
}

}  // namespace aqua::example
