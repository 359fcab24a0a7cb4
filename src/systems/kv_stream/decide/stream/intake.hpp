// SPDX-License-Identifier: Apache-2.0
// Intake is a receiver's record of the sequences that are streamed to it: of each, which ranks of
// the sending pipeline have delivered their part. A sequence is there once all have that must.
//
// A sequence may be streamed again, by other ranks or another pipeline, because some of those that
// streamed it first have died: the highest attempt counts, and what came of an earlier one is given
// up, never mixed with it.
//
// Threads: one at a time. Pure: no device, clock or I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "aqua/result.hpp"

namespace aqua::kv_stream {

// What one rank has delivered.
struct StreamPart {
  std::uint64_t sequence = 0;
  std::uint32_t attempt = 1;
  std::uint32_t group = 0;   // whose rank it is, by number
  std::uint32_t source = 0;  // rank
  std::uint32_t tokens = 0;
  std::uint64_t parcel = 0;  // its number, which no two have
  std::string words{};
};

class Intake {
 public:
  struct Sequence {
    std::uint32_t attempt = 0;
    std::uint32_t group = 0;
    std::uint32_t tokens = 0;
    std::string words{};
    std::map<std::uint32_t, std::uint64_t> parcels{};  // by source
    bool told = false;                                 // by take_complete()
    friend bool operator==(const Sequence&, const Sequence&) = default;
  };

  // For each group the ranks that have a part for this receiver; none: the group sends it nothing.
  explicit Intake(std::vector<std::vector<std::uint32_t>> sources);

  // Takes a part in. Returns the parcels that are of no use then, for the caller to finish: those
  // of an earlier attempt, or this one, where a later one has begun.
  //   invalid_argument  a group or rank that sends nothing here, no tokens, or others than the
  //                     attempt's first part has
  //   already_exists    the attempt has this rank's part, or another group's parts
  // After an error nothing has changed.
  [[nodiscard]] Result<std::vector<std::uint64_t>> add(const StreamPart& part);
  // An attempt of this group's does not come, as a rank has not delivered its part: parts of it
  // that come afterwards are of no use either, as long as it is one of the last kMostCutOff.
  // Returns the parcels that are of no use then. Nothing: it is known, or it has come, or a later
  // one has begun to come.
  static constexpr std::size_t kMostCutOff = 1 << 16;
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> cut_off(std::uint32_t group,
                                                                  std::uint64_t sequence,
                                                                  std::uint32_t attempt);
  // Sequences that are complete, since the last call, in ascending order.
  [[nodiscard]] std::vector<std::uint64_t> take_complete();
  // Sequences of which take_complete() has not told, in ascending order.
  [[nodiscard]] std::vector<std::uint64_t> untold() const;
  [[nodiscard]] const Sequence* find(std::uint64_t sequence) const;  // nullptr: nothing has come
  [[nodiscard]] bool complete(const Sequence& sequence) const;

  // Forgets a sequence and returns its parcels, for the caller to finish.
  [[nodiscard]] std::vector<std::uint64_t> drop(std::uint64_t sequence);
  // Whose parcel it is. None: no sequence here has it.
  [[nodiscard]] std::optional<std::uint64_t> sequence_of(std::uint64_t parcel) const;

  friend bool operator==(const Intake&, const Intake&) = default;

 private:
  std::vector<std::vector<std::uint32_t>> sources_;
  std::map<std::uint64_t, Sequence> sequences_{};
  // Group, sequence and attempt.
  using Attempt = std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>;
  std::set<Attempt> cut_off_{};
  std::deque<Attempt> cut_off_order_{};  // the oldest first
};

}  // namespace aqua::kv_stream
