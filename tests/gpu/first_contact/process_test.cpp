// SPDX-License-Identifier: Apache-2.0
// How a check is asked, with checks of this test's own, over the stand-in for the driver. The
// program starts itself again for each.
#include "tests/gpu/first_contact/process.hpp"

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "tests/gpu/first_contact/gpu.hpp"

namespace aqua::first_contact {
namespace {

Result<Answer> agree(const Gpu& gpu) {
  std::printf("a driver's own words\n");
  return Answer{.yes = true, .detail = "so it is", .figures = {{"granule", gpu.granule()}}};
}
Result<Answer> refuse(const Gpu&) {
  return Error{Code::internal, "cuMemMap: refused"};
}
Result<Answer> hang(const Gpu&) {
  for (;;) ::pause();
}
Result<Answer> die(const Gpu&) {
  ::raise(SIGKILL);
  return Answer{.yes = true};
}

constexpr Check kChecks[]{{"agree", Kind::assumption, "a", "", agree},
                          {"refuse", Kind::question, "b", "do without", refuse},
                          {"hang", Kind::assumption, "c", "wait", hang},
                          {"die", Kind::assumption, "d", "mourn", die}};

nlohmann::json ask(const char* name, const Options& options = {}) {
  return ask_apart(*find_check(name), options);
}

TEST(FirstContact, AYesComesBackWithItsFigures) {
  const auto row = ask("agree");
  EXPECT_EQ(row["answer"], "yes") << row;
  EXPECT_EQ(row["detail"], "so it is");
  EXPECT_EQ(row["figures"]["granule"], 2 << 20);
  EXPECT_EQ(row["kind"], "assumption");
  EXPECT_FALSE(row.contains("otherwise"));
}

TEST(FirstContact, ACallThatFailsIsANoThatSaysWhatToDo) {
  const auto row = ask("refuse");
  EXPECT_EQ(row["answer"], "no") << row;
  EXPECT_EQ(row["kind"], "question");
  EXPECT_EQ(row["detail"], "cuMemMap: refused");
  EXPECT_EQ(row["otherwise"], "do without");
}

TEST(FirstContact, ACheckThatHangsIsEndedAtItsLimit) {
  const auto row = ask("hang", {.mib = 2, .limit = std::chrono::seconds(1)});
  EXPECT_EQ(row["answer"], "no");
  EXPECT_EQ(row["detail"], "still ran after 1 s");
  EXPECT_EQ(row["otherwise"], "wait");
}

TEST(FirstContact, ACheckThatDiesTakesNoOtherWithIt) {
  EXPECT_EQ(ask("die")["detail"], "ended by signal 9");
  EXPECT_EQ(ask("agree")["answer"], "yes");
}

}  // namespace

std::span<const Check> checks() {
  return kChecks;
}
}  // namespace aqua::first_contact

int main(int argc, char** argv) {
  using namespace aqua::first_contact;
  if (argc > 2 && std::string_view(argv[1]) == "--check")
    return answer_here(*find_check(argv[2]), {});
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
