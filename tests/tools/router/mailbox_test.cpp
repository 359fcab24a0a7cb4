// SPDX-License-Identifier: Apache-2.0
// What a mailbox takes in of engines while nobody takes anything out.
#include "tools/router/flow/mailbox.hpp"

#include <gtest/gtest.h>

namespace aqua::router {
namespace {

std::vector<Mail> one(Mail mail) {
  std::vector<Mail> mails;
  mails.push_back(std::move(mail));
  return mails;
}
// How many of them it takes in, of at most `tries`.
int taken_in(Mailbox& mailbox, const Mail& mail, int tries) {
  int taken = 0;
  while (taken < tries && mailbox.post(one(mail))) ++taken;
  return taken;
}

TEST(Mailbox, TakesInSoManyTokens) {
  Mailbox mailbox(10);
  EXPECT_EQ(taken_in(mailbox, Piece{.count = 3}, 100), 3);
  EXPECT_EQ(taken_in(mailbox, Piece{.count = 1}, 100), 1) << "what is left";
  EXPECT_EQ(mailbox.take({}).size(), 4U);
  EXPECT_EQ(taken_in(mailbox, Piece{.count = 3}, 100), 3) << "once they were taken out";
}

TEST(Mailbox, CountsWhatHasNoTokenAsOne) {
  for (const Mail& mail : {Mail{Piece{.text = "a"}}, Mail{EngineWord{}}, Mail{RawPart{}}}) {
    Mailbox mailbox(10);
    EXPECT_EQ(taken_in(mailbox, mail, 100), 10) << mail.index();
  }
}

TEST(Mailbox, TakesInSoManyBytes) {
  const std::string text(std::size_t{1} << 20, 'x');
  for (const Mail& mail :
       {Mail{Piece{.count = 1, .text = text}},
        Mail{Piece{.count = 1, .ids = std::vector<TokenId>(text.size() / sizeof(TokenId))}},
        Mail{EngineWord{.word = {.why = text}}}, Mail{RawPart{.data = text}}}) {
    Mailbox mailbox(4096);
    EXPECT_EQ(taken_in(mailbox, mail, 100), 16) << mail.index();
    EXPECT_EQ(mailbox.take({}).size(), 16U);
    EXPECT_EQ(taken_in(mailbox, mail, 100), 16) << "once they were taken out";
  }
}

TEST(Mailbox, AlwaysTakesInEndsAndOrders) {
  Mailbox mailbox(1);
  EXPECT_EQ(taken_in(mailbox, Piece{.count = 1}, 100), 1);
  mailbox.post(Mail{AttemptDied{}});
  mailbox.post(Mail{FleetOrder{}});
  EXPECT_EQ(mailbox.take({}).size(), 3U);
}

}  // namespace
}  // namespace aqua::router
