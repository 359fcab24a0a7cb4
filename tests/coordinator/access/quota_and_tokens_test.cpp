// SPDX-License-Identifier: Apache-2.0
// How often a caller may ask, and tokens on disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "coordinator/access/pace.hpp"
#include "coordinator/token_command.hpp"
#include "tests/base/temp_dir.hpp"
#include "tools/access/quota.hpp"
#include "tools/access/tokens.hpp"

namespace aqua::coordinator {
using namespace access;

namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::TempDir;

TEST(Quota, RateIsASecondsWorthAndComesBack) {
  Quota quota({.rate = 10, .concurrent = 100});
  Quota::Time now{};
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(quota.enter("a", now).ok());
  EXPECT_EQ(quota.enter("a", now).error().code, Code::resource_exhausted);
  EXPECT_TRUE(quota.enter("b", now).ok());
  now += std::chrono::milliseconds{100};
  EXPECT_TRUE(quota.enter("a", now).ok());
  EXPECT_FALSE(quota.enter("a", now).ok());
}

TEST(Quota, ConcurrencyEndsWithThePass) {
  Quota quota({.rate = 1000, .concurrent = 2});
  const auto first = quota.enter("a", {});
  {
    const auto second = quota.enter("a", {});
    EXPECT_THAT(quota.enter("a", {}).error().message, HasSubstr("2 requests under way"));
  }
  EXPECT_TRUE(quota.enter("a", {}).ok());
}

TEST(Quota, RemembersABoundedNumber) {
  Quota quota({.rate = 10, .concurrent = 10});
  Quota::Time now{};
  for (int i = 0; i < 20'000; ++i) {
    now += std::chrono::milliseconds{1};
    ASSERT_TRUE(quota.enter(std::to_string(i), now).ok());
  }
  EXPECT_LE(quota.callers(), 4096U + 1);
}

TEST(Pace, BeyondASecondsWorthEachWaitsItsTurnAndThenNoneIsTaken) {
  Pace pace(100);
  Pace::Time now{};
  for (int i = 0; i < 100; ++i) ASSERT_EQ(pace.turn_of(1, now), now);
  // A turn each hundredth of a second, up to a quarter of one away.
  for (int i = 1; i <= 25; ++i)
    ASSERT_EQ(pace.turn_of(1, now), now + i * std::chrono::milliseconds{10}) << i;
  EXPECT_EQ(pace.turn_of(1, now), std::nullopt);
  EXPECT_EQ(pace.turn_of(2, now), now);
  // Who was not taken has used up nothing: the next turn is free as soon as one has passed.
  now += std::chrono::milliseconds{10};
  EXPECT_EQ(pace.turn_of(1, now), now + Pace::kMostWait);
  EXPECT_EQ(pace.turn_of(1, now), std::nullopt);
  now += std::chrono::seconds{2};
  for (int i = 0; i < 100; ++i) ASSERT_EQ(pace.turn_of(1, now), now);
}

TEST(Pace, RemembersABoundedNumber) {
  Pace pace(1000);
  Pace::Time now{};
  for (pid_t process = 1; process < 20'000; ++process) {
    now += std::chrono::milliseconds{1};
    ASSERT_EQ(pace.turn_of(process, now), now);
  }
  EXPECT_LE(pace.processes(), 4096U);
}

TEST(Tokens, AreHashedOnDiskAndPrivate) {
  TempDir dir;
  const std::string path = dir / "tokens";
  const std::string text = issue_token(path, Role::operator_, "the placer").value();
  std::ifstream file(path);
  const std::string kept((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_THAT(kept, Not(HasSubstr(text.substr(5))));
  EXPECT_THAT(kept, HasSubstr("the placer"));
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  TokenBook book(path);
  ASSERT_TRUE(book.find(text).value());
  EXPECT_EQ(book.find(text).value()->role, Role::operator_);
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_EQ(load_tokens(path).error().code, Code::permission_denied);
  EXPECT_FALSE(book.find(text).value());
}

TEST(Tokens, MadeByRootTheyAreTheFoldersOwners) {
  if (::geteuid() != 0) GTEST_SKIP() << "not root, who alone makes files for others";
  constexpr uid_t kDaemon = 12'345;
  TempDir dir;
  ASSERT_EQ(::chown(dir.path().c_str(), kDaemon, kDaemon), 0);
  const std::string path = dir / "tokens";
  const auto all_are_the_daemons = [&] {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
      struct stat info {};
      ASSERT_EQ(::stat(entry.path().c_str(), &info), 0);
      EXPECT_EQ(info.st_uid, kDaemon) << entry.path();
      EXPECT_EQ(info.st_gid, kDaemon) << entry.path();
      EXPECT_EQ(info.st_mode & 0777U, 0600U) << entry.path();
      ++files;
    }
    EXPECT_EQ(files, 2U);  // the tokens and their lock
  };
  ASSERT_TRUE(issue_token(path, Role::engine, "").ok());
  all_are_the_daemons();
  ASSERT_TRUE(revoke_token(path, load_tokens(path).value().at(0).id()).ok());
  all_are_the_daemons();
}

TEST(Tokens, RootGivesNobodyAFileOfElsewhere) {
  if (::geteuid() != 0) GTEST_SKIP() << "not root, who alone makes files for others";
  TempDir dir;
  const std::string folder = dir / "data";
  const std::string secret = dir / "secret";
  std::ofstream(secret) << "of root's\n";
  ASSERT_TRUE(std::filesystem::create_directory(folder));
  ASSERT_EQ(::chown(folder.c_str(), 12'345, 12'345), 0);
  const auto is_as_it_was = [&] {
    struct stat info {};
    EXPECT_EQ(::stat(secret.c_str(), &info), 0);
    EXPECT_EQ(info.st_uid, 0U);
    EXPECT_EQ(info.st_size, 10);
  };
  std::filesystem::create_hard_link(secret, folder + "/tokens.new");
  EXPECT_TRUE(issue_token(folder + "/tokens", Role::engine, "").ok());
  is_as_it_was();
  std::filesystem::remove(folder + "/tokens.lock");
  std::filesystem::create_hard_link(secret, folder + "/tokens.lock");
  EXPECT_EQ(issue_token(folder + "/tokens", Role::engine, "").error().code,
            Code::permission_denied);
  is_as_it_was();
}

TEST(Tokens, BrokenFileLetsNobodyInAndIsNamed) {
  TempDir dir;
  const std::string path = dir / "tokens";
  const std::string text = issue_token(path, Role::engine, "").value();
  std::ofstream(path, std::ios::app) << "nonsense\n";
  EXPECT_THAT(load_tokens(path).error().message, HasSubstr("line 3"));
  EXPECT_FALSE(TokenBook(path).find(text).value());
  EXPECT_FALSE(issue_token(path, Role::engine, "").ok());
  EXPECT_EQ(issue_token(dir / "other", Role::engine, "two\nlines").error().code,
            Code::invalid_argument);
}

// While it lives this process can open no file.
class NoDescriptors {
 public:
  NoDescriptors() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &former_), 0);
    const rlimit none{0, former_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoDescriptors() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &former_), 0); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit former_{};
};

TEST(Tokens, AFileThatCouldNotBeReadOnceIsReadAgain) {
  TempDir dir;
  const std::string path = dir / "tokens";
  const std::string text = issue_token(path, Role::engine, "").value();
  TokenBook book(path);
  {
    const NoDescriptors none;
    EXPECT_EQ(book.find(text).error().code, Code::unavailable);
  }
  EXPECT_TRUE(book.find(text).value()) << "nothing but descriptors was missing";
  const std::string another = issue_token(path, Role::engine, "").value();
  {
    const NoDescriptors none;
    EXPECT_EQ(book.find(text).error().code, Code::unavailable) << "it may be over by now";
  }
  EXPECT_TRUE(book.find(another).value());
}

TEST(Tokens, CommandIssuesListsAndRevokes) {
  TempDir dir;
  const std::string path = dir / "tokens";
  const auto run = [&](std::vector<const char*> words) {
    words.insert(words.end(), {"--tokens", path.c_str()});
    return token_command(words);
  };
  const std::string text = run({"issue", "engine", "node 7"}).value();
  EXPECT_TRUE(text.starts_with("aqua_"));
  const std::string listed = run({"list"}).value();
  EXPECT_THAT(listed, HasSubstr(" engine "));
  EXPECT_THAT(listed, HasSubstr(" node 7\n"));
  const std::string id = listed.substr(0, 16);
  EXPECT_EQ(run({"revoke", id.c_str()}).value(), "revoked " + id + "\n");
  EXPECT_EQ(run({"revoke", id.c_str()}).error().code, Code::not_found);
  EXPECT_EQ(run({"list"}).value(), "");
  for (const std::vector<const char*>& bad :
       {std::vector<const char*>{}, {"issue"}, {"issue", "king"}, {"list", "x"}, {"--what"}})
    EXPECT_EQ(run(bad).error().code, Code::invalid_argument);
}

}  // namespace
}  // namespace aqua::coordinator
