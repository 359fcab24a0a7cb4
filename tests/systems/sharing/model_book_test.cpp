// SPDX-License-Identifier: Apache-2.0
#include "systems/sharing/decide/model_book.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/systems/sharing/model_book_fixture.hpp"

namespace aqua::sharing {
namespace {

class Models : public ModelBookTest {};

TEST_F(Models, WhatIsCommittedIsAttached) {
  const CopyId copy = book_.open(kLoader, {"m", "1"}, gpu(0)).value();
  EXPECT_EQ(attach_code({"m"}), Code::not_found) << "it is being filled";
  EXPECT_EQ(book_.commit(kLoader, copy).value(), Copies{});
  EXPECT_EQ(book_.attach(kReader, {"m"}, gpu(0))->copy, copy);
  EXPECT_EQ(book_.attach(kReader, {"m", "1"}, gpu(0))->copy, copy) << "again";
  EXPECT_EQ(book_.status()[0].copies[0].readers, 1U);
  EXPECT_EQ(book_.detach(kReader, copy).value(), Copies{}) << "the newest stays unread";
  EXPECT_EQ(book_.detach(kReader, copy).error().code, Code::not_found);
}

TEST_F(Models, WhatCannotBeIsRefusedAndChangesNothing) {
  const CopyId copy = publish("1");
  const auto open_code = [&](const ShardName& name) {
    return book_.open(kOther, name, gpu(0)).error().code;
  };
  EXPECT_EQ(open_code({"m", "1"}), Code::already_exists);
  EXPECT_EQ(open_code({"m", "1", 0, 2}), Code::invalid_argument);
  EXPECT_EQ(book_.commit(kLoader, copy).error().code, Code::not_found) << "twice";
  EXPECT_EQ(book_.commit(kLoader, 77).error().code, Code::not_found);
  const CopyId more = book_.open(kLoader, {"m", "1"}, gpu(1)).value();
  EXPECT_EQ(book_.commit(kOther, more).error().code, Code::not_found) << "another's";
  EXPECT_EQ(attach_code({"m", "1", 0, 2}), Code::invalid_argument);
  EXPECT_EQ(attach_code({"m", "1"}, gpu(1)), Code::failed_precondition) << "being filled there";
  EXPECT_EQ(attach_code({"n"}), Code::not_found);
  EXPECT_EQ(attach_code({"m", "2"}), Code::not_found);
  EXPECT_EQ(book_.retire("m", "2").error().code, Code::not_found);
  EXPECT_EQ(book_.gone(kLate), Copies{});
  EXPECT_EQ(book_.status()[0].copies[0].readers, 0U);
}

TEST_F(Models, ANewVersionSupersedesTheOldWhichGoesWithItsLastReader) {
  const CopyId old = publish("1");
  ASSERT_TRUE(book_.attach(kReader, {"m"}, gpu(0)).ok());
  const CopyId fresh = publish("2");
  EXPECT_EQ(forgotten_, Copies{}) << "somebody reads it";
  EXPECT_EQ(book_.attach(kLate, {"m"}, gpu(0))->copy, fresh);
  EXPECT_EQ(book_.attach(kLate, {"m", "1"}, gpu(0))->copy, old) << "by name";
  EXPECT_EQ(book_.open(kOther, {"m", "1"}, gpu(1)).error().code, Code::failed_precondition);
  EXPECT_EQ(book_.gone(kReader), Copies{});
  EXPECT_EQ(book_.detach(kLate, old).value(), Copies{old});
  EXPECT_EQ(attach_code({"m", "1"}), Code::not_found);
  publish("3");
  EXPECT_EQ(forgotten_, Copies{}) << "2 is still read";
  EXPECT_EQ(book_.gone(kLate), Copies{fresh});
}

// Workers of one engine: a second version shows between their calls.
TEST_F(Models, AVersionShowsWithItsLastShardAndReadersOfOneShardKeepTheOthers) {
  const CopyId first = book_.open(kLoader, {"m", "1", 0, 2}, gpu(0)).value();
  const CopyId second = book_.open(kOther, {"m", "1", 1, 2}, gpu(0)).value();
  ASSERT_TRUE(book_.commit(kLoader, first).ok());
  EXPECT_EQ(attach_code({"m", "", 0, 2}), Code::not_found);
  EXPECT_FALSE(book_.status()[0].shows);
  ASSERT_TRUE(book_.commit(kOther, second).ok());
  EXPECT_EQ(book_.attach(kReader, {"m", "", 0, 2}, gpu(0))->copy, first);
  publish("2");
  EXPECT_EQ(forgotten_, Copies{});
  EXPECT_EQ(book_.attach(kLate, {"m", "1", 1, 2}, gpu(0))->copy, second);
  EXPECT_EQ(book_.gone(kReader), Copies{});
  EXPECT_EQ(book_.gone(kLate), (Copies{first, second}));
}

TEST_F(Models, AnOlderVersionThatLacksShardsGoesWhenANewerOneShows) {
  const CopyId half = book_.open(kLoader, {"m", "1", 0, 2}, gpu(0)).value();
  ASSERT_TRUE(book_.commit(kLoader, half).ok());
  const CopyId slow = book_.open(kOther, {"m", "1", 1, 2}, gpu(0)).value();
  publish("2");
  EXPECT_EQ(forgotten_, Copies{half});
  EXPECT_EQ(book_.commit(kOther, slow).error().code, Code::failed_precondition) << "too late";
  EXPECT_EQ(book_.gone(kOther), Copies{slow});
  EXPECT_EQ(book_.status().size(), 1U);
}

TEST_F(Models, AWriterThatGoesTakesAlongWhatItWasFilling) {
  const CopyId there = publish("1");
  const CopyId half = book_.open(kLoader, {"m", "2"}, gpu(0)).value();
  EXPECT_EQ(book_.gone(kLoader), Copies{half});
  EXPECT_EQ(book_.attach(kReader, {"m"}, gpu(0))->copy, there);
  EXPECT_EQ(book_.status().size(), 1U);
}

TEST_F(Models, AnotherDeviceHasACopyOfItsOwn) {
  const CopyId first = publish("1");
  const CopyId second = book_.open(kOther, {"m", "1"}, gpu(1)).value();
  ASSERT_TRUE(book_.commit(kOther, second).ok());
  EXPECT_EQ(book_.attach(kReader, {"m"}, gpu(0))->copy, first);
  EXPECT_EQ(book_.attach(kReader, {"m"}, gpu(1))->copy, second);
  const auto elsewhere = book_.attach(kReader, {"m"}, gpu(2));
  EXPECT_EQ(elsewhere.error().code, Code::failed_precondition);
  EXPECT_NE(elsewhere.error().message.find(to_string(gpu(1))), std::string::npos);
}

// Replicas are given the new version one after another, and none is without one meanwhile.
TEST_F(Models, AnOlderVersionStaysUntilItsLastDeviceHasANewerOne) {
  const CopyId old_here = publish("1");
  const CopyId old_there = book_.open(kLoader, {"m", "1"}, gpu(1)).value();
  ASSERT_TRUE(book_.commit(kLoader, old_there).ok());
  const CopyId new_here = publish("2");
  EXPECT_EQ(forgotten_, Copies{});
  EXPECT_EQ(book_.attach(kReader, {"m"}, gpu(0))->copy, new_here);
  EXPECT_EQ(book_.attach(kReader, {"m"}, gpu(1))->copy, old_there);
  const auto nowhere = book_.attach(kReader, {"m"}, gpu(2));
  ASSERT_FALSE(nowhere.ok());
  EXPECT_NE(nowhere.error().message.find("m 2 shard 0 is not on"), std::string::npos)
      << "the newest of all is named: " << nowhere.error().message;
  EXPECT_EQ(book_.gone(kReader), Copies{}) << "unread, and still the newest on a device";
  const CopyId newer_there = book_.open(kLoader, {"m", "3"}, gpu(1)).value();
  EXPECT_EQ(book_.commit(kLoader, newer_there).value(), (Copies{old_here, old_there}))
      << "two newer ones have both of its devices";
  EXPECT_EQ(book_.attach(kLate, {"m"}, gpu(0))->copy, new_here);
  EXPECT_EQ(book_.attach(kLate, {"m"}, gpu(1))->copy, newer_there);
}

TEST_F(Models, AnOlderVersionStaysWhereTheNewerOneIsOnlyBeingFilled) {
  const CopyId old_here = publish("1");
  const CopyId old_there = book_.open(kLoader, {"m", "1"}, gpu(1)).value();
  ASSERT_TRUE(book_.commit(kLoader, old_there).ok());
  const CopyId filling = book_.open(kOther, {"m", "2"}, gpu(1)).value();
  publish("2");
  EXPECT_EQ(forgotten_, Copies{}) << "the copy may still fail";
  EXPECT_EQ(book_.attach(kReader, {"m"}, gpu(1))->copy, old_there);
  EXPECT_EQ(book_.gone(kReader), Copies{});
  EXPECT_EQ(book_.commit(kOther, filling).value(), (Copies{old_here, old_there}));
  EXPECT_EQ(book_.attach(kReader, {"m"}, gpu(1))->copy, filling);
}

TEST_F(Models, AnOlderVersionStaysWhereTheNewerOneHasOnlySomeOfItsShards) {
  const auto copy_of = [&](const char* version, std::uint32_t shard, std::uint8_t device) {
    const CopyId copy = book_.open(kLoader, {"m", version, shard, 2}, gpu(device)).value();
    forgotten_ = book_.commit(kLoader, copy).value();
    return copy;
  };
  Copies old;
  for (const auto device : std::initializer_list<std::uint8_t>{0, 1}) {
    for (const std::uint32_t shard : {0U, 1U}) old.push_back(copy_of("1", shard, device));
  }
  for (const std::uint32_t shard : {0U, 1U}) (void)copy_of("2", shard, 0);
  (void)copy_of("2", 0, 1);
  EXPECT_EQ(forgotten_, Copies{}) << "the other shard may never come";
  EXPECT_EQ(book_.attach(kReader, {"m", "1", 1, 2}, gpu(1))->copy, old.back());
  EXPECT_EQ(book_.gone(kReader), Copies{});
  (void)copy_of("2", 1, 1);
  EXPECT_EQ(forgotten_, old);
}

TEST_F(Models, WhatIsFilledBesideTheShardsOfAnOlderVersionKeepsItFromNothing) {
  const auto copy_of = [&](const char* version, std::uint32_t shard) {
    const CopyId copy =
        book_.open(kLoader, {"m", version, shard, 2}, gpu(shard == 0 ? 0 : 1)).value();
    forgotten_ = book_.commit(kLoader, copy).value();
    return copy;
  };
  const Copies old{copy_of("1", 0), copy_of("1", 1)};
  (void)copy_of("2", 0);
  ASSERT_TRUE(book_.open(kOther, {"m", "2", 1, 2}, gpu(0)).ok());
  (void)copy_of("2", 1);
  EXPECT_EQ(forgotten_, old);
}

TEST_F(Models, WhatMayComeIsAShardThatIsThereOrBeingPublishedOnTheDevice) {
  const CopyId first = book_.open(kLoader, {"m", "1", 0, 2}, gpu(0)).value();
  const auto expect_first = [&](const char* when) {
    EXPECT_TRUE(book_.may_come({"m", "", 0, 2}, gpu(0))) << when;
    EXPECT_TRUE(book_.may_come({"m", "1", 0, 2}, gpu(0))) << when;
    EXPECT_FALSE(book_.may_come({"m", "2", 0, 2}, gpu(0))) << when;
    EXPECT_FALSE(book_.may_come({"m", "1", 1, 2}, gpu(0))) << when << ": nobody publishes it";
    EXPECT_FALSE(book_.may_come({"m", "1", 0, 2}, gpu(1))) << when;
    EXPECT_FALSE(book_.may_come({"m", "1", 0, 3}, gpu(0))) << when;
    EXPECT_FALSE(book_.may_come({"n", "1", 0, 2}, gpu(0))) << when;
  };
  expect_first("being published");
  ASSERT_TRUE(book_.commit(kLoader, first).ok());
  expect_first("its version lacks a shard");
  publish("2");
  EXPECT_FALSE(book_.may_come({"m", "1", 0, 2}, gpu(0))) << "superseded";
  EXPECT_FALSE(book_.may_come({"m", "2"}, gpu(0))) << "it is there already";
  EXPECT_FALSE(book_.may_come({"m", ""}, gpu(0)));
}

TEST_F(Models, ARetiredVersionGoesAtOnceUnlessItIsRead) {
  const CopyId one = publish("1");
  EXPECT_EQ(book_.retire("m", "1").value(), Copies{one});
  const CopyId two = publish("2");
  ASSERT_TRUE(book_.attach(kReader, {"m"}, gpu(0)).ok());
  EXPECT_EQ(book_.retire("m", "2").value(), Copies{});
  EXPECT_EQ(attach_code({"m"}), Code::not_found) << "nobody new";
  EXPECT_EQ(book_.gone(kReader), Copies{two});
  EXPECT_TRUE(book_.status().empty());
}

// Ten thousand calls at random: what is attached is there until it is told to be forgotten, each
// copy is forgotten once, and nothing stays that nobody can ever attach.
TEST_F(Models, WhateverHappensNothingReadIsForgottenAndNothingIsLeft) {
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  std::map<CopyId, std::set<ClientNumber>> reading;  // committed copies
  std::map<CopyId, ClientNumber> filling;
  const auto forget = [&](const Copies& copies) {
    for (const CopyId copy : copies) {
      const auto read = reading.find(copy);
      if (read != reading.end()) {
        EXPECT_TRUE(read->second.empty()) << "copy " << copy;
      }
      EXPECT_EQ(reading.erase(copy) + filling.erase(copy), 1U) << "copy " << copy;
    }
  };
  for (std::uint64_t step = 0; step < 10'000; ++step) {
    const ClientNumber client = below(5);
    const ShardName name{"m" + std::to_string(below(2)), std::to_string(step / 50 + below(2)),
                         static_cast<std::uint32_t>(below(2)), 2};
    const DeviceUuid device = gpu(static_cast<std::uint8_t>(below(2)));
    switch (below(6)) {
      case 0:
      case 1:
        if (const auto opened = book_.open(client, name, device); opened.ok()) {
          filling[*opened] = client;
        }
        break;
      case 2:
        if (!filling.empty()) {
          const auto [copy, writer] =
              *std::next(filling.begin(), static_cast<std::ptrdiff_t>(below(filling.size())));
          const auto committed = book_.commit(writer, copy);
          if (!committed.ok()) {  // its version was superseded: it goes with its writer
            ASSERT_EQ(committed.error().code, Code::failed_precondition);
            break;
          }
          filling.erase(copy);
          reading[copy];
          forget(*committed);
        }
        break;
      case 3:
        if (const auto copy = book_.attach(client, {name.model, "", name.shard, 2}, device);
            copy.ok()) {
          ASSERT_TRUE(reading.contains(copy->copy));
          reading[copy->copy].insert(client);
        }
        break;
      case 4:
        for (auto& [copy, readers] : reading) {
          if (!readers.contains(client)) continue;
          readers.erase(client);
          const auto detached = book_.detach(client, copy);
          ASSERT_TRUE(detached.ok());
          forget(*detached);
          break;
        }
        break;
      default:
        if (below(4) != 0) break;
        for (auto& [copy, readers] : reading) readers.erase(client);
        forget(book_.gone(client));
    }
    std::size_t copies = 0;
    for (const VersionStatus& version : book_.status()) {
      std::size_t readers = 0, filled = 0;
      for (const CopyStatus& copy : version.copies) {
        EXPECT_EQ(copy.filling, filling.contains(copy.id));
        if (!copy.filling) {
          EXPECT_EQ(copy.readers, reading.at(copy.id).size());
        }
        readers += copy.readers;
        filled += copy.filling ? 0 : 1;
      }
      copies += version.copies.size();
      if (version.superseded) {
        EXPECT_TRUE(readers > 0 || filled == 0) << "nobody can have it";
      }
    }
    ASSERT_EQ(copies, reading.size() + filling.size());
  }
}

}  // namespace
}  // namespace aqua::sharing
