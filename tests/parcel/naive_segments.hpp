// SPDX-License-Identifier: Apache-2.0
// A second record of segments, as plain as it can be: flat lists of facts, each looked up by
// walking them. SegmentBook is compared with it, call by call.
//
// Threads: one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "parcel/segment_book.hpp"

namespace aqua {

class NaiveSegments {
 public:
  explicit NaiveSegments(const SegmentQuota& quota) : quota_(quota) {}

  std::optional<Code> join(std::uint64_t m, const SegmentOwner& owner) {
    if (find(m) != nullptr) return Code::already_exists;
    members_.push_back({m, owner});
    return {};
  }
  std::optional<Code> reserve(std::uint64_t m, std::uint64_t bytes, SegmentNumber number) {
    if (!present(m)) return Code::not_found;
    if (bytes == 0) return Code::invalid_argument;
    const SegmentOwner owner = find(m)->owner;
    std::uint64_t all = bytes, user = bytes, process = bytes;
    for (const Fact& f : facts_) {
      all += f.bytes;
      user += f.owner.user == owner.user ? f.bytes : 0;
      process += f.owner == owner ? f.bytes : 0;
    }
    if (all > quota_.bytes || user > quota_.of_user || process > quota_.of_process ||
        facts_.size() + 1 > quota_.segments) {
      return Code::resource_exhausted;
    }
    facts_.push_back({.number = number, .bytes = bytes, .owner = owner, .writer = m});
    return {};
  }
  std::optional<Code> commit(std::uint64_t m, SegmentNumber number, std::uint64_t parcel,
                             std::uint64_t bytes) {
    if (!present(m)) return Code::not_found;
    Fact* const f = fact(number);
    if (f == nullptr || f->writer != m) return Code::not_found;
    if (!f->mine) return Code::failed_precondition;
    if (bytes > f->bytes) return Code::invalid_argument;
    f->mine = false;
    f->kept = true;
    f->parcel = parcel;
    f->committed = bytes;
    ++f->generation;
    return {};
  }
  std::optional<Code> open(std::uint64_t m, SegmentNumber number, std::uint64_t generation) {
    if (!present(m)) return Code::not_found;
    if (const auto code = look(number, generation)) return code;
    if (reads(m, number)) return Code::already_exists;
    reads_.push_back({m, number});
    return {};
  }
  std::optional<Code> close(std::uint64_t m, SegmentNumber number) {
    if (!present(m) || !reads(m, number)) return Code::not_found;
    std::erase_if(reads_, [&](const Read& r) { return r.member == m && r.number == number; });
    return {};
  }
  std::optional<Code> drop(SegmentNumber number, std::uint64_t generation) {
    if (const auto code = look(number, generation)) return code;
    if (fact(number)->parcel != 0) return Code::failed_precondition;
    fact(number)->kept = false;
    return {};
  }
  std::optional<Code> give_up(std::uint64_t m, SegmentNumber number) {
    if (!present(m) || fact(number) == nullptr || fact(number)->writer != m) return Code::not_found;
    fact(number)->writer = 0;
    return {};
  }
  void end_parcel(std::uint64_t parcel) {
    for (Fact& f : facts_) {
      if (f.kept && f.parcel == parcel && parcel != 0) f.kept = false;
    }
  }
  void gone(std::uint64_t m) {
    if (find(m) == nullptr) return;
    find(m)->gone = true;
    for (Fact& f : facts_) f.writer = f.writer == m ? 0 : f.writer;
  }
  void end(std::uint64_t m) {
    gone(m);
    std::erase_if(reads_, [&](const Read& r) { return r.member == m; });
    std::erase_if(members_, [&](const Known& k) { return k.member == m; });
  }
  // What has ended by the last call: nobody keeps, reads or writes it.
  SegmentNumbers sweep() {
    SegmentNumbers ended;
    for (const Fact& f : facts_) {
      if (!f.kept && f.writer == 0 && readers(f.number) == 0) ended.push_back(f.number);
    }
    std::erase_if(facts_, [&](const Fact& f) {
      return std::find(ended.begin(), ended.end(), f.number) != ended.end();
    });
    return ended;
  }
  std::optional<Code> take_returned(std::uint64_t m, std::size_t most, SegmentNumbers& numbers) {
    if (!present(m)) return Code::not_found;
    for (Fact& f : facts_) {
      if (numbers.size() == most || !is_returned(f, m)) continue;
      f.mine = true;
      numbers.push_back(f.number);
    }
    return {};
  }
  [[nodiscard]] bool has_returned(std::uint64_t m) const {
    return std::any_of(facts_.begin(), facts_.end(),
                       [&](const Fact& f) { return is_returned(f, m); });
  }
  [[nodiscard]] bool reads_any(std::uint64_t m) const {
    return std::any_of(reads_.begin(), reads_.end(), [&](const Read& r) { return r.member == m; });
  }
  [[nodiscard]] SegmentCounts counts() const {
    SegmentCounts counts{.segments = facts_.size()};
    for (const Fact& f : facts_) {
      counts.bytes += f.bytes;
      if (f.kept) {
        ++counts.kept;
      } else {
        ++(readers(f.number) != 0 ? counts.left : counts.reserved);
      }
    }
    return counts;
  }
  [[nodiscard]] SegmentNumbers numbers() const {
    SegmentNumbers all;
    for (const Fact& f : facts_) all.push_back(f.number);
    return all;
  }
  [[nodiscard]] std::uint64_t generation(SegmentNumber number) const {
    for (const Fact& f : facts_) {
      if (f.number == number) return f.generation;
    }
    return 0;
  }
  // Alike for states that differ in the numbers and the generations of their segments alone.
  [[nodiscard]] std::string text() const {
    std::ostringstream all;
    for (const Known& k : members_) all << k.member << k.gone << ' ';
    std::vector<std::string> lines;
    for (const Fact& f : facts_) {
      std::ostringstream line;
      line << '|' << f.bytes << ',' << f.writer << f.mine << f.kept << f.parcel << ','
           << f.committed << (f.generation > 0) << ':';
      for (const Known& k : members_) line << reads(k.member, f.number);
      lines.push_back(line.str());
    }
    for (const std::string& line : lines) all << line;
    return all.str();
  }

 private:
  struct Known {
    std::uint64_t member = 0;
    SegmentOwner owner{};
    bool gone = false;
  };
  struct Fact {
    SegmentNumber number = 0;
    std::uint64_t bytes = 0;
    SegmentOwner owner{};
    std::uint64_t writer = 0;
    bool mine = true;  // its writer may write it
    bool kept = false;
    std::uint64_t parcel = 0, committed = 0, generation = 0;
  };
  struct Read {
    std::uint64_t member = 0;
    SegmentNumber number = 0;
  };

  [[nodiscard]] const Known* find(std::uint64_t m) const {
    for (const Known& k : members_) {
      if (k.member == m) return &k;
    }
    return nullptr;
  }
  Known* find(std::uint64_t m) { return const_cast<Known*>(std::as_const(*this).find(m)); }
  [[nodiscard]] bool present(std::uint64_t m) const { return find(m) != nullptr && !find(m)->gone; }
  Fact* fact(SegmentNumber number) {
    for (Fact& f : facts_) {
      if (f.number == number) return &f;
    }
    return nullptr;
  }
  std::optional<Code> look(SegmentNumber number, std::uint64_t generation) {
    const Fact* const f = fact(number);
    if (f == nullptr) return Code::not_found;
    if (f->generation > generation) return Code::aborted;
    return f->generation == generation && f->kept ? std::nullopt : std::optional(Code::not_found);
  }
  [[nodiscard]] bool reads(std::uint64_t m, SegmentNumber number) const {
    return std::any_of(reads_.begin(), reads_.end(),
                       [&](const Read& r) { return r.member == m && r.number == number; });
  }
  [[nodiscard]] std::ptrdiff_t readers(SegmentNumber number) const {
    return std::count_if(reads_.begin(), reads_.end(),
                         [&](const Read& r) { return r.number == number; });
  }
  [[nodiscard]] bool is_returned(const Fact& f, std::uint64_t m) const {
    return f.writer == m && !f.mine && !f.kept && readers(f.number) == 0;
  }

  SegmentQuota quota_;
  std::vector<Known> members_;
  std::vector<Fact> facts_;
  std::vector<Read> reads_;
};

}  // namespace aqua
