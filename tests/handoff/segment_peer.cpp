// SPDX-License-Identifier: Apache-2.0
// A process that writes and reads segments (obey.hpp), with a cache of its own on an emulated GPU.
// A NAME is "NUMBER GENERATION BYTES DIGEST". It knows
//   open                opens its segments
//   leave
//   hang-up             shuts its connection to the keeper, and lives on
//   post STAMP N        takes a segment, stamps N blocks, gathers and commits them; waits for
//   nothing committed           answers the NAME of the next that is committed, or the error write
//   STAMP N       both take N              takes a segment and gathers N blocks, and does not
//   commit it read NAME STAMP     opens it, scatters all of it into its cache and compares every
//   byte begin NAME          asks for it, and waits for nothing check STAMP         compares the
//   bytes of what it read last, in the segment, with their digest,
//                       and scatters and compares them again
//   close drop|keep     closes what it read last
//   ready               waits until a segment has come back
//   writes N            writes N with stamps of their own, "wrote STAMP NAME" each
#include <unistd.h>

#include <istream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "aqua/handoff/segments.hpp"
#include "base/text/hex.hpp"
#include "tests/handoff/stamped_cache.hpp"
#include "tests/keeper/hang_up.hpp"
#include "tests/keeper/obey.hpp"

namespace {

using namespace aqua;
using test::StampedCache;
using test::peer::outcome;
using test::peer::tell;

constexpr std::chrono::milliseconds kLook{1000};  // then look again whether the keeper is there

std::string words_of(const SegmentName& name) {
  return std::to_string(name.number) + " " + std::to_string(name.generation) + " " +
         std::to_string(name.bytes) + " " + to_hex(name.digest);
}
SegmentName read_name(std::istream& words) {
  SegmentName name;
  std::string digest;
  words >> name.number >> name.generation >> name.bytes >> digest;
  for (std::size_t i = 0; i < name.digest.size(); ++i) {
    name.digest[i] =
        static_cast<std::uint8_t>(hex_value(digest[2 * i]) * 16 + hex_value(digest[2 * i + 1]));
  }
  return name;
}
std::uint64_t number(std::istream& words) {
  std::uint64_t value = 0;
  words >> value;
  return value;
}

class SegmentPeer {
 public:
  explicit SegmentPeer(std::string keeper) : keeper_(std::move(keeper)) {}

  std::string obey(const std::string& verb, std::istream& words) {
    if (verb == "open") {
      auto opened = Segments::open(
          cache_.runtime(),
          {.segment_bytes = std::size_t{2} << 20, .ready = 2, .digest = true, .keeper = keeper_});
      if (opened.ok()) segments_ = std::move(*opened);
      return outcome(opened);
    }
    if (!segments_) return "not open";
    if (verb == "leave") return segments_.reset(), "ok";
    if (verb == "hang-up") return test::hang_up();
    if (verb == "post") return post(words);
    if (verb == "committed") return committed();
    if (verb == "write") {
      std::string posted = post(words);
      return posted == "ok" ? committed() : posted;
    }
    if (verb == "take") return take(number(words));
    if (verb == "read") return read(words);
    if (verb == "begin") return outcome(segments_->read(read_name(words)));
    if (verb == "check") return check(number(words));
    if (verb == "close") return close(words);
    if (verb == "ready") return ready();
    if (verb == "writes") return writes(number(words));
    return "what is '" + verb + "'?";
  }

 private:
  bool wait() {
    (void)segments_->wait(kLook);
    return segments_->status().connected;
  }

  // Waits for as long as the keeper is there.
  std::optional<Segment> gathered(std::size_t blocks) {
    const std::size_t bytes = cache_.layout().packed_bytes(blocks);
    for (;;) {
      const auto taken = segments_->take(bytes);
      if (taken.ok()) {
        const auto list = StampedCache::blocks(blocks, 5, 3);
        const auto ticket =
            segments_->gather(taken->number, 0, cache_.layout(), list, cache_.stream());
        return ticket.ok() ? std::optional(*taken) : std::nullopt;
      }
      if (!wait()) return std::nullopt;
    }
  }
  std::string take(std::size_t blocks) { return gathered(blocks) ? "ok" : "no keeper"; }
  std::string post(std::istream& words) {
    const std::uint64_t stamp = number(words);
    const std::size_t blocks = number(words);
    cache_.stamp(StampedCache::blocks(blocks, 5, 3), stamp);
    const auto segment = gathered(blocks);
    if (!segment) return "no keeper";
    return outcome(
        segments_->commit(segment->number, cache_.layout().packed_bytes(blocks), cache_.stream()));
  }
  std::string committed() {
    while (committed_.empty()) {
      for (CommittedSegment& one : segments_->committed()) committed_.push_back(std::move(one));
      if (committed_.empty()) (void)wait();
    }
    const CommittedSegment first = std::move(committed_.front());
    committed_.erase(committed_.begin());
    return first.error ? std::string(to_string(first.error->code)) : words_of(first.name);
  }

  std::string read(std::istream& words) {
    const SegmentName name = read_name(words);
    const std::uint64_t stamp = number(words);
    const auto asked = segments_->read(name);
    if (!asked.ok()) return outcome(asked);
    std::vector<OpenedSegment> opened;
    while ((opened = segments_->opened()).empty()) (void)wait();
    if (opened.front().error) return std::string(to_string(opened.front().error->code));
    name_ = name;
    return check(stamp);
  }
  std::string check(std::uint64_t stamp) {
    const auto verified = segments_->verify(name_.number);
    if (!verified.ok()) return outcome(verified);
    const std::size_t blocks = name_.bytes / cache_.layout().block_bytes();
    const auto list = StampedCache::blocks(blocks, 1, 7);
    const auto ticket = segments_->scatter(name_.number, 0, cache_.layout(), list, cache_.stream());
    if (!ticket.ok()) return outcome(ticket);
    return cache_.stamped(list, stamp) && *verified ? "ok" : "a byte is wrong";
  }
  std::string close(std::istream& words) {
    std::string after;
    words >> after;
    return outcome(segments_->close(name_.number, cache_.stream(),
                                    after == "drop" ? SegmentAfter::drop : SegmentAfter::keep));
  }
  std::string ready() {
    while (segments_->status().kept != 0) {
      if (!wait()) return "no keeper";
    }
    return "ok";
  }
  std::string writes(std::uint64_t count) {
    for (; count > 0; --count) {
      const std::uint64_t stamp = static_cast<std::uint64_t>(::getpid()) * 1'000'000 + ++last_;
      std::istringstream words(std::to_string(stamp) + " " + std::to_string(1 + stamp % 8));
      std::string said = post(words);
      if (said == "ok") said = committed();
      if (said == "no keeper" || said == "unavailable") return "no keeper";
      tell("wrote " + std::to_string(stamp) + " " + said);
    }
    return "ok";
  }

  const std::string keeper_;
  StampedCache cache_;
  std::optional<Segments> segments_;
  std::vector<CommittedSegment> committed_;
  SegmentName name_;
  std::uint64_t last_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  SegmentPeer peer(argv[1]);
  test::peer::obey_forever(peer);
}
