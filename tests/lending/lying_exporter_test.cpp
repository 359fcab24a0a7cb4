// SPDX-License-Identifier: Apache-2.0
// A borrower before exporters that lie: each lie is refused with its code, nothing is mapped, no
// descriptor stays open, and the same importer borrows from an honest lender afterwards.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <functional>
#include <optional>
#include <thread>

#include "tests/lending/support.hpp"

namespace aqua::lending {
namespace {

// Speaks on an exporter's end of a connection.
class Mouth {
 public:
  explicit Mouth(UniqueFd fd) : fd_(std::move(fd)) {}

  void say(std::span<const std::byte> bytes, std::span<const int> fds = {}) const {
    EXPECT_TRUE(send_message(fd_.get(), bytes, fds, kPatience).ok());
  }
  void reply(std::vector<ReplyEntry> entries, std::span<const int> fds = {}) const {
    say(encode(Reply{std::move(entries)}), fds);
  }
  // True when the borrower has said something; false once either side has closed.
  [[nodiscard]] bool hear() const {
    if (!fd_.valid()) return false;
    const auto message = receive_message(fd_.get(), kMaxExchangeBytes, kPatience);
    EXPECT_TRUE(message.ok()) << message.error().message;
    return message.ok() && !message->bytes.empty();
  }
  void close() { fd_.reset(); }

 private:
  UniqueFd fd_;
};

struct Lie {
  const char* name;
  Code refused;  // with this, by the borrower
  std::function<void(Mouth&)> to_fetch;
  std::function<void(Mouth&)> to_hello = [](Mouth& mouth) { mouth.reply({{0, 0}}); };
};

// An exporter of one connection.
class Liar {
 public:
  explicit Liar(const Lie& lie)
      : listener_(listen_seqpacket(path_.str()).value()), thread_([this, &lie] { serve(lie); }) {}
  ~Liar() { thread_.join(); }
  Liar(const Liar&) = delete;
  Liar& operator=(const Liar&) = delete;
  [[nodiscard]] std::string path() const { return path_.str(); }

 private:
  void serve(const Lie& lie) {
    pollfd waiting{listener_.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&waiting, 1, 10'000), 1);
    mouth_.emplace(accept_seqpacket(listener_.get()).value());
    if (!mouth_->hear()) return;
    lie.to_hello(*mouth_);
    if (mouth_->hear()) lie.to_fetch(*mouth_);
  }

  SocketPath path_;
  UniqueFd listener_;
  std::optional<Mouth> mouth_;
  std::thread thread_;
};

class LyingExporter : public ::testing::Test {
 protected:
  LyingExporter() { borrow_honestly(); }  // which connects
  void borrow_honestly() {
    const LeasedSlab lease = lender_.lease(0);
    EXPECT_TRUE(succeeds(importer_->import({&lease, 1})));
    EXPECT_TRUE(succeeds(importer_->give_back(lease.key)));
    EXPECT_EQ(lender_.freed().next().generation, lease.key.generation + 1);
  }
  void expect_refused(const Lie& lie) {
    SCOPED_TRACE(lie.name);
    const std::size_t descriptors = open_descriptors();
    const std::size_t mappings = slab_mappings();
    {
      const Liar liar(lie);
      LeasedSlab lease = lender_.lease(1);
      lease.key.producer = random_id<ClientTag>();
      lease.exchange = liar.path();
      const auto imported = importer_->import({&lease, 1});
      ASSERT_FALSE(imported.ok());
      EXPECT_EQ(to_string(imported.error().code), to_string(lie.refused))
          << imported.error().message;
      EXPECT_TRUE(importer_->all().empty());
      borrow_honestly();
    }
    importer_->forget_ended();
    EXPECT_TRUE(eventually([&] { return open_descriptors() == descriptors; }))
        << open_descriptors() << " and not " << descriptors;
    EXPECT_EQ(slab_mappings(), mappings);
  }

  Lender lender_{2};
  std::unique_ptr<device::Device> gpu_ = open_gpu(1);
  std::unique_ptr<Importer> importer_ = open_importer(*gpu_);
  const UniqueFd null_{::open("/dev/null", O_RDWR | O_CLOEXEC)};
};

TEST_F(LyingExporter, IsRefusedWhateverItAnswersToAFetch) {
  const auto slab = lender_.gpu().create_slab(kSlab);
  ASSERT_TRUE(succeeds(slab));
  const UniqueFd memory = lender_.gpu().export_slab(**slab).value();
  const int null = null_.get();
  const int real = memory.get();
  const ReplyEntry granted{0, kSlab};
  const std::vector<std::byte> noise(24, std::byte{0xa5});
  const std::vector<std::byte> flood(kMaxExchangeBytes + 1, std::byte{0xa5});
  const std::vector<int> many(200, null);
  for (const Lie& lie : {
           Lie{"noise", Code::invalid_argument,
               [&](Mouth& m) {
                 m.say(noise, {&real, 1});
               }},
           Lie{"too long", Code::invalid_argument,
               [&](Mouth& m) {
                 m.say(flood, {&real, 1});
               }},
           Lie{"no answer", Code::internal, [](Mouth& m) { m.say(encode(Fetch{{{}}})); }},
           Lie{"hangs up", Code::unavailable, [](Mouth& m) { m.close(); }},
           Lie{"of two slabs", Code::internal,
               [&](Mouth& m) {
                 m.reply({granted, granted}, {&real, 1});
               }},
           Lie{"three times, without memory", Code::internal,
               [&](Mouth& m) {
                 for (int i = 0; i < 3; ++i) m.reply({granted});
               }},
           Lie{"200 descriptors", Code::internal, [&](Mouth& m) { m.reply({granted}, many); }},
           Lie{"memory with a refusal", Code::permission_denied,
               [&](Mouth& m) {
                 m.reply({{to_reply_code(Code::permission_denied), 0}}, {&real, 1});
               }},
           Lie{"a code that is none", Code::internal,
               [](Mouth& m) {
                 m.reply({{4711, 0}});
               }},
           Lie{"another size", Code::invalid_argument,
               [&](Mouth& m) {
                 m.reply({{0, kSlab / 2}}, {&real, 1});
               }},
           Lie{"no memory", Code::invalid_argument,
               [&](Mouth& m) {
                 m.reply({granted}, {&null, 1});
               }},
       }) {
    expect_refused(lie);
  }
}

TEST_F(LyingExporter, IsRefusedWhateverItAnswersToAHello) {
  const std::vector<std::byte> noise(24, std::byte{0xa5});
  const auto nothing = [](Mouth&) {};
  for (const Lie& lie : {
           Lie{"noise", Code::invalid_argument, nothing, [&](Mouth& m) { m.say(noise); }},
           Lie{"of two", Code::internal, nothing,
               [](Mouth& m) {
                 m.reply({{0, 0}, {0, 0}});
               }},
           Lie{"hangs up", Code::unavailable, nothing, [](Mouth& m) { m.close(); }},
           Lie{"silent", Code::unavailable, nothing, nothing},
       }) {
    expect_refused(lie);
  }
}

// It answers the fetch when the borrower, which has given up, has given back what it asked for.
TEST_F(LyingExporter, ThatGrantsTooLateGrantsNothing) {
  const auto slab = lender_.gpu().create_slab(kSlab);
  ASSERT_TRUE(succeeds(slab));
  const UniqueFd memory = lender_.gpu().export_slab(**slab).value();
  const int real = memory.get();
  expect_refused({"late", Code::unavailable, [&](Mouth& mouth) {
                    EXPECT_TRUE(mouth.hear()) << "nothing was given back";
                    mouth.reply({{0, kSlab}}, {&real, 1});
                    mouth.reply({{0, 0}});
                  }});
}

}  // namespace
}  // namespace aqua::lending
