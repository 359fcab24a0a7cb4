// SPDX-License-Identifier: Apache-2.0
#include "tests/kill/proc.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/concat.hpp"

namespace aqua::kill_test {

std::multiset<std::uint64_t> mapped_slabs(pid_t pid) {
  std::multiset<std::uint64_t> inodes;
  std::ifstream maps(concat("/proc/", pid, "/maps"));
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/memfd:aqua-slab") == std::string::npos) continue;
    std::istringstream fields(line);
    std::string addresses, permissions, offset, device;
    std::uint64_t inode = 0;
    fields >> addresses >> permissions >> offset >> device >> inode;
    inodes.insert(inode);
  }
  return inodes;
}

std::vector<std::string> descriptors(pid_t pid) {
  std::vector<std::string> kinds;
  std::error_code ended;  // descriptors may close while we look
  for (std::filesystem::directory_iterator at(concat("/proc/", pid, "/fd"), ended), end;
       !ended && at != end; at.increment(ended)) {
    std::string target = std::filesystem::read_symlink(at->path(), ended).string();
    // "socket:[9]" and "/tmp/producer0.log" to what they are; "anon_inode:[pidfd]" says it.
    if (target.starts_with("socket:") || target.starts_with("pipe:"))
      target.erase(target.find(':'));
    if (target.ends_with(".log")) target = "log";
    if (!ended) kinds.push_back(std::move(target));
    ended.clear();
  }
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

}  // namespace aqua::kill_test
