// SPDX-License-Identifier: Apache-2.0
#include "play/pool_memory.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace aqua::prefill_decode {
namespace {

// The inodes of all files that a process has open.
std::set<std::string> open_inodes(pid_t pid) {
  std::set<std::string> inodes;
  std::error_code gone;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd", gone)) {
    struct stat status {};
    if (::stat(entry.path().c_str(), &status) == 0) inodes.insert(std::to_string(status.st_ino));
  }
  return inodes;
}

}  // namespace

PoolMemory pool_memory(pid_t process, pid_t keeper) {
  const std::set<std::string> kept = open_inodes(keeper);
  PoolMemory memory;
  std::ifstream maps("/proc/" + std::to_string(process) + "/smaps");
  bool ours = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string first, access, offset, device, inode;
    words >> first >> access;
    if (first == "Pss:" && ours) memory.proportional_bytes += std::stoull(access) << 10;
    if (first.find('-') == std::string::npos || first.back() == ':') continue;
    words >> offset >> device >> inode;
    ours = access == "rw-s" && kept.contains(inode);
    if (ours) memory.inodes.insert(inode);
  }
  return memory;
}

std::uint64_t own_part_of(const std::filesystem::path& file) {
  const std::string path = std::filesystem::canonical(file);
  std::ifstream maps("/proc/self/smaps");
  std::uint64_t bytes = 0;
  bool ours = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string first, second;
    words >> first >> second;
    if (first == "Pss:" && ours) bytes += std::stoull(second) << 10;
    if (first.find('-') != std::string::npos && first.back() != ':') ours = line.ends_with(path);
  }
  return bytes;
}

}  // namespace aqua::prefill_decode
