// SPDX-License-Identifier: Apache-2.0
#include "device/numa.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace aqua::device {
namespace {

TEST(Numa, ADevicesNodeIsReadFromItsFolderWhateverTheCaseOfItsName) {
  const std::filesystem::path root =
      std::filesystem::temp_directory_path() / ("aqua-numa-" + std::to_string(::getpid()));
  std::filesystem::create_directories(root / "0000:3b:00.0");
  std::ofstream(root / "0000:3b:00.0" / "numa_node") << "1\n";
  EXPECT_EQ(numa_node_of_pci("0000:3B:00.0", root), 1);
  EXPECT_EQ(numa_node_of_pci("0000:3C:00.0", root), -1);
  std::filesystem::remove_all(root);
}

TEST(Numa, PreferringANodeThatIsNotThereChangesNothing) {
  prefer_numa_node(-1);
  prefer_numa_node(1'000);
  prefer_numa_node(100'000);
  EXPECT_EQ(std::string(1 << 20, 'x').size(), 1U << 20);  // and pages still come
}

}  // namespace
}  // namespace aqua::device
