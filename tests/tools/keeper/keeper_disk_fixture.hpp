// SPDX-License-Identifier: Apache-2.0
// A real keeper with a disk, and a client that asks it about segments.
//
// Threads: one.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/keeper/connection.hpp"
#include "parcel/segment_wire.hpp"
#include "tests/keeper/keeper_process.hpp"
#include "tests/tools/keeper/kept_segments.hpp"

namespace aqua::keeper::test {

// Asks a keeper about segments, and writes and reads their memory without mapping it.
class Client {
 public:
  explicit Client(const std::string& socket)
      : connection_(KeeperConnection::connect(socket).value()) {}

  struct Answer {
    segment_wire::Reply reply;
    std::vector<UniqueFd> fds;
  };
  Result<Answer> ask(const segment_wire::Request& request) {
    auto message =
        connection_.exchange(segment_wire::encode(request), {}, std::chrono::seconds(60));
    if (!message.ok()) return std::move(message).error();
    auto reply = segment_wire::decode_reply(text_of(*message));
    if (!reply.ok()) return std::move(reply).error();
    return Answer{*std::move(reply), std::move(message->fds)};
  }
  segment_wire::Reply say(const segment_wire::Request& request) {
    auto answer = ask(request);
    EXPECT_TRUE(answer.ok()) << answer.error().message;
    return answer.ok() ? std::move(answer->reply) : segment_wire::Reply{};
  }

  // Commits bytes that are drawn from `stamp`.
  SegmentName commit(std::uint64_t stamp, std::uint64_t bytes, bool with_digest = true,
                     const std::optional<SegmentOrigin>& copy_of = {}) {
    auto reserved = ask(segment_wire::Reserve{std::max<std::uint64_t>(bytes, 1)});
    EXPECT_TRUE(reserved.ok()) << reserved.error().message;
    if (!reserved.ok()) return {};
    const auto all = bytes_of_segment(stamp, 0, bytes);
    EXPECT_EQ(::pwrite(reserved->fds.at(0).get(), all.data(), all.size(), 0),
              static_cast<ssize_t>(all.size()));
    return say(segment_wire::Commit{reserved->reply.name.number, bytes,
                                    with_digest ? xxh3_of(all) : SegmentDigest{}, 0, copy_of})
        .name;
  }
  bool has(const SegmentName& name, std::uint64_t stamp) {
    auto opened = ask(segment_wire::Open{name.number, name.generation});
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    if (!opened.ok()) return false;
    const bool right =
        opened->reply.name == name && opened->reply.capacity >= name.bytes &&
        bytes_in(opened->fds.at(0).get(), name.bytes) == bytes_of_segment(stamp, 0, name.bytes);
    say(segment_wire::Close{name.number});
    return right;
  }
  std::vector<SegmentStatus> rows() {
    std::vector<SegmentStatus> all;
    for (bool more = true; more;) {
      segment_wire::Reply part =
          say(segment_wire::List{all.empty() ? 0 : all.back().name.number + 1});
      more = part.more && !part.rows.empty();
      all.insert(all.end(), part.rows.begin(), part.rows.end());
    }
    return all;
  }
  SegmentDisk disk() { return say(segment_wire::Disk{}).disk.value_or(SegmentDisk{}); }
  // Once nothing is pending.
  SegmentDisk written() {
    SegmentDisk now = disk();
    while (now.pending.segments != 0) {
      std::this_thread::yield();
      now = disk();
    }
    return now;
  }

 private:
  KeeperConnection connection_;
};

class KeeperDisk : public ::testing::Test {
 protected:
  KeeperDisk() { keeper_.kill(); }

  void start(const std::vector<std::string>& more = {}) {
    std::vector<std::string> all{AQUA_KEEPER_PROGRAM, "--socket", keeper_.socket(), "--disk",
                                 disk()};
    all.insert(all.end(), more.begin(), more.end());
    start_program(all);
  }
  // What it says on stderr is in said().
  void start_program(const std::vector<std::string>& arguments) {
    std::vector<std::string> all{"/bin/sh", "-c", R"(exec "$0" "$@" 2>>)" + said()};
    all.insert(all.end(), arguments.begin(), arguments.end());
    keeper_.start(all);
  }
  [[nodiscard]] Client client() {
    Client one(keeper_.socket());
    one.say(segment_wire::Join{});
    return one;
  }
  [[nodiscard]] std::string disk() const { return dir_ / "disk"; }
  [[nodiscard]] std::string said() const { return dir_ / "said"; }  // on stderr
  [[nodiscard]] int times_said(const std::string& what) const {
    std::ifstream all(said());
    int times = 0;
    for (std::string line; std::getline(all, line);) times += line.find(what) != line.npos ? 1 : 0;
    return times;
  }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(disk())) {
      all.push_back(entry.path());
    }
    return all;
  }

  aqua::test::KeeperProcess keeper_;
  aqua::testing::TempDir dir_;
};

}  // namespace aqua::keeper::test
