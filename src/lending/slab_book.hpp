// SPDX-License-Identifier: Apache-2.0
// The exporter's own record of its slabs: generation, secret and holder of each. It is the
// authority that the coordinator's ledger is reconciled with: it hands out a newer
// generation only once the last holder is gone.
//
//   free --fetch--> held --give_back / holder dead--> scrubbing --scrubbed--> free (generation + 1)
//
// Threads: none of its own; the exporter's lock guards it. Pure: no I/O, no clock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "aqua/result.hpp"
#include "base/ids.hpp"
#include "lending/exchange_wire.hpp"

namespace aqua::lending {

enum class Custody : std::uint8_t { free, held, scrubbing };

struct SlabStatus {
  std::uint32_t index = 0;  // never reused by this exporter
  std::size_t bytes = 0;
  std::uint64_t generation = 1;
  LeaseSecret secret;  // of this generation
  Custody custody = Custody::free;
  std::optional<ClientId> holder;  // set exactly while held
};

enum class GrantEnd : std::uint8_t {
  returned,  // the holder told the coordinator that it has unmapped the slab
  died,      // the coordinator has proof of the holder's death
  unknown,   // one of the two: the coordinator has the grant as ended, and does not say how
};

class SlabBook {
 public:
  // A slab that has been scrubbed: free, generation 1, a fresh secret.
  SlabStatus add(std::size_t bytes);

  // What to answer to each entry: all are granted (and held by `client` from now on), or
  // none is. A slab that `client` holds already in that generation is granted again.
  //   not_found, aborted (generation), permission_denied (secret), failed_precondition (held)
  [[nodiscard]] std::vector<ReplyEntry> fetch(const ClientId& client,
                                              std::span<const FetchEntry> entries);

  // `client` has unmapped the slab: it goes to scrubbing. aborted when the generation is
  // stale, permission_denied when another holds it.
  [[nodiscard]] Result<void> give_back(const ClientId& client, std::uint32_t index,
                                       std::uint64_t generation);
  // The coordinator tells that a grant of this generation ended. A granted slab that was
  // never fetched is scrubbed too, since somebody knows its secret. Of a holder's death we
  // wait for our own proof, where the coordinator says that it was one. Stale generations are
  // ignored. Returns whether the slab now waits for a scrub.
  [[nodiscard]] bool grant_ended(std::uint32_t index, std::uint64_t generation, GrantEnd how);
  // All that a proven-dead process held, now in scrubbing.
  [[nodiscard]] std::vector<std::uint32_t> holder_dead(const ClientId& client);

  // Scrubbed: free again under the next generation and a fresh secret.
  SlabStatus scrubbed(std::uint32_t index);

  // Gives every free slab a new generation and secret: what another life of the coordinator
  // granted and nobody fetched opens nothing any more. Nothing to scrub: nobody held them.
  void renew_free();

  // Takes slabs out of the book for good. All or nothing: failed_precondition names the
  // first that is not free; invalid_argument when one is named twice.
  [[nodiscard]] Result<void> remove(std::span<const std::uint32_t> indexes);

  [[nodiscard]] const SlabStatus* find(std::uint32_t index) const;
  [[nodiscard]] std::vector<SlabStatus> all() const;

 private:
  [[nodiscard]] std::optional<Code> refusal(const ClientId& client, const FetchEntry& entry) const;

  std::map<std::uint32_t, SlabStatus> slabs_;
  std::uint32_t next_index_ = 1;
};

}  // namespace aqua::lending
