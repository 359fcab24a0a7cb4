// SPDX-License-Identifier: Apache-2.0
// The text of curves and the file that keeps them: what is written is read; nothing else is.
#include "transfer/calibration/curve_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "tests/transfer/curves/synthetic_link.hpp"
#include "transfer/calibration/curve_store.hpp"

namespace aqua::transfer {
namespace {

namespace fs = std::filesystem;

CurveSet some_curves() {
  std::minstd_rand random(1);
  CurveSet set;
  for (const Link link : {Link::local, Link::host}) {
    for (const Direction direction : kDirections) {
      for (const Way way : kWays) {
        if (way == Way::kernel) continue;  // not every device has all
        const test::SyntheticWay truth{1e-5, 1e-6, 50e9};
        set.at(link, direction, way) = Curve::make(test::measure(truth, 0.1, random)).value();
      }
    }
    set.set_measured(link);
  }
  return set;
}

CurveKey some_key() {
  CurveKey key;
  key.library = "0.1.0";
  key.driver = "CUDA 13.0";
  key.device = parse_id<DeviceTag>("00112233445566778899aabbccddeeff").value();
  return key;
}

void expect_same(const CurveSet& a, const CurveSet& b) {
  for (const Link link : kLinks) {
    EXPECT_EQ(a.measured(link), b.measured(link));
    for (const Direction direction : kDirections) {
      for (const Way way : kWays) {
        const auto one = a.at(link, direction, way).points();
        const auto other = b.at(link, direction, way).points();
        EXPECT_TRUE(std::ranges::equal(one, other));
      }
    }
  }
}

TEST(CurveFile, ReadsWhatItWrote) {
  const std::string text = print_curves(some_key(), some_curves());
  const auto file = parse_curves(text);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->key, some_key());
  expect_same(file->curves, some_curves());
}

TEST(CurveFile, ReadsNothingMeasured) {
  const auto file = parse_curves(print_curves({}, CurveSet()));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_FALSE(file->curves.measured(Link::host));
}

TEST(CurveFile, StringsOfTheKeyCannotMakeLines) {
  CurveKey key = some_key();
  key.driver = "a\nend 0\n\xff" + std::string(1000, 'x');
  EXPECT_TRUE(parse_curves(print_curves(key, some_curves())).ok());
}

TEST(CurveFile, EveryTruncationIsRefused) {
  const std::string text = print_curves(some_key(), some_curves());
  for (std::size_t size = 0; size < text.size(); ++size) {
    const auto file = parse_curves(std::string_view(text).substr(0, size));
    ASSERT_FALSE(file.ok()) << size;
    EXPECT_EQ(file.error().code, Code::invalid_argument);
  }
  EXPECT_EQ(parse_curves(text + "\n").error().code, Code::invalid_argument);
}

TEST(CurveFile, EveryChangedByteIsRefused) {
  const std::string text = print_curves(some_key(), some_curves());
  std::minstd_rand random(5);
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = static_cast<char>(changed[at] ^ static_cast<char>(1 + random() % 127));
    EXPECT_EQ(parse_curves(changed).error().code, Code::invalid_argument) << at;
  }
}

TEST(CurveFile, PointsThatCannotBeAreRefusedWhateverTheHashSays) {
  const auto refused = [](std::string points) {
    const auto file = parse_curves("aqua-curves 1\nlibrary 1\ndriver \ndevice " +
                                   std::string(32, '0') + "\nlocal offload each " + points);
    return !file.ok() && file.error().code == Code::invalid_argument;
  };
  EXPECT_TRUE(refused("1\n0 0 0\n"));
  EXPECT_TRUE(refused("1\n99999999999999999999999 1 1\n"));
  EXPECT_TRUE(refused("1\n-1 1 1\n"));
  EXPECT_TRUE(refused("99999999999\n"));
  EXPECT_TRUE(refused("1000000\n1 1 1\n"));
}

class CurveStore : public ::testing::Test {
 protected:
  CurveStore() {
    char name[] = "/tmp/aqua-curves-XXXXXX";
    root = ::mkdtemp(name);
    directory = root + "/aqua";
  }
  ~CurveStore() override { fs::remove_all(root); }
  [[nodiscard]] std::string path() const { return curve_path(directory, some_key()); }
  [[nodiscard]] Code load_code() const { return load_curves(directory, some_key()).error().code; }
  void overwrite(const std::string& text) const { std::ofstream(path()) << text; }

  std::string root;
  std::string directory;
};

TEST_F(CurveStore, LoadsWhatItSaved) {
  EXPECT_EQ(load_code(), Code::not_found);
  ASSERT_TRUE(save_curves(directory, some_key(), some_curves()).ok());
  const auto loaded = load_curves(directory, some_key());
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  expect_same(*loaded, some_curves());
}

TEST_F(CurveStore, ReplacesAndLeavesNoDraft) {
  ASSERT_TRUE(save_curves(directory, some_key(), CurveSet()).ok());
  ASSERT_TRUE(save_curves(directory, some_key(), some_curves()).ok());
  EXPECT_TRUE(load_curves(directory, some_key())->measured(Link::host));
  EXPECT_EQ(std::distance(fs::directory_iterator(directory), fs::directory_iterator()), 1);
  struct stat info {};
  ASSERT_EQ(::stat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0600U);
}

TEST_F(CurveStore, FailsToSaveWithoutADirectoryAndChangesNothing) {
  EXPECT_EQ(save_curves(root + "/no/such/where", some_key(), some_curves()).error().code,
            Code::not_found);
  EXPECT_FALSE(fs::exists(root + "/no/such/where"));
}

TEST_F(CurveStore, IgnoresWhatIsStale) {
  ASSERT_TRUE(save_curves(directory, some_key(), some_curves()).ok());
  CurveKey other = some_key();
  other.driver = "CUDA 13.1";
  EXPECT_EQ(load_curves(directory, other).error().code, Code::failed_precondition);
  other = some_key();
  other.library = "0.2.0";
  EXPECT_EQ(load_curves(directory, other).error().code, Code::failed_precondition);
}

TEST_F(CurveStore, IgnoresWhatIsForeignOrDamaged) {
  ASSERT_TRUE(save_curves(directory, some_key(), some_curves()).ok());
  CurveKey other = some_key();
  other.device = DeviceUuid{};
  overwrite(print_curves(other, some_curves()));  // a file of another device under our name
  EXPECT_EQ(load_code(), Code::failed_precondition);
  overwrite("");
  EXPECT_EQ(load_code(), Code::invalid_argument);
  overwrite(std::string(kMaxCurveText + 5, 'x'));
  EXPECT_EQ(load_code(), Code::resource_exhausted);
}

TEST_F(CurveStore, IgnoresWhatOthersMayWriteAndWhatIsNoFile) {
  ASSERT_TRUE(save_curves(directory, some_key(), some_curves()).ok());
  ::chmod(path().c_str(), 0666);
  EXPECT_EQ(load_code(), Code::permission_denied);
  ::chmod(path().c_str(), 0600);
  EXPECT_TRUE(load_curves(directory, some_key()).ok());
  fs::rename(path(), root + "/real");
  fs::create_symlink(root + "/real", path());
  EXPECT_FALSE(load_curves(directory, some_key()).ok()) << "not even to a good file";
  fs::remove(path());
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_EQ(load_code(), Code::permission_denied);
}

TEST(CurveDirectory, IsTheCacheOfTheUser) {
  ::setenv("XDG_CACHE_HOME", "/somewhere", 1);
  EXPECT_EQ(default_curve_directory(), "/somewhere/aqua");
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  ::setenv("HOME", "/home/me", 1);
  EXPECT_EQ(default_curve_directory(), "/home/me/.cache/aqua");
  ::unsetenv("XDG_CACHE_HOME");
  ::unsetenv("HOME");
  EXPECT_EQ(default_curve_directory(), "");
}

}  // namespace
}  // namespace aqua::transfer
