// SPDX-License-Identifier: Apache-2.0
// ModelBook is the keeper's record of published models: which versions there are, on which devices
// each of their shards lies, who is publishing and who reads.
//
//   open() --> filling --commit()--> there; a version shows once all of its shards are there
//
// Newer versions that show supersede an older one of their model once they have filled copies of
// its shards on every device on which that has some: it is attached only by name from then on, and
// goes with its last reader; one that lacks shards goes at once. So a version that is put on one
// device after another takes nothing from the engines of the others. Readers of one shard keep the
// whole version, so that the workers of one engine never get shards of different ones. A *spare*
// copy lies where no engine reads it, in host memory: it keeps no version from being superseded
// when another one is committed elsewhere.
//
// What is published is never written again, so that memory which is forgotten here goes when the
// last process unmaps it: nobody's death need be proven.
//
// Threads: none of its own; the keeper calls it on one. Pure: no I/O, no clock.
// Errors:  a call that fails changes nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aqua/result.hpp"
#include "base/ids.hpp"

namespace aqua::sharing {

// One shard of one version on one device: slabs and a manifest, which the keeper has by this
// number.
using CopyId = std::uint64_t;
// A connection to the keeper.
using ClientNumber = std::uint64_t;

struct ShardName {
  std::string model{};
  std::string version{};
  std::uint32_t shard = 0, shards = 1;
};

// How a copy is opened.
struct Opening {
  bool spare = false;
  // An earlier keeper had it: who reads it is not known, and its version is as old as it was.
  bool restored = false;
  std::uint64_t order = 0;  // of its version; 0: the newest, if there is none of that name
};

struct CopyStatus {
  CopyId id = 0;
  std::uint32_t shard = 0;
  DeviceUuid device;
  bool filling = false;
  bool spare = false;
  bool readers_unknown = false;  // an earlier keeper may have had some
  std::size_t readers = 0;
  std::uint64_t last_used = 0;  // the larger, the later it was published, attached or let go of
};

struct VersionStatus {
  std::string model{};
  std::string version{};
  std::uint32_t shards = 1;
  bool shows = false;       // all shards are there
  bool superseded = false;  // a newer one shows, or it was retired
  std::vector<CopyStatus> copies{};
};

class ModelBook {
 public:
  // A copy that `writer` is about to fill.
  //   already_exists        this shard of this version is there or being filled, on this device
  //   invalid_argument      the version has another number of shards
  //   failed_precondition   the version is superseded: what is changed gets a new version's name
  [[nodiscard]] Result<CopyId> open(ClientNumber writer, const ShardName& name,
                                    const DeviceUuid& device, const Opening& as = {});
  // It is filled and sealed. Answers the copies to forget: those of older versions that nobody
  // reads.
  //   not_found             `writer` fills no such copy
  //   failed_precondition   its version was superseded or retired meanwhile
  [[nodiscard]] Result<std::vector<CopyId>> commit(ClientNumber writer, CopyId copy);

  // An earlier keeper's copies are all committed again, which by themselves supersede nothing: what
  // had been superseded is so again. Answers the copies to forget.
  [[nodiscard]] std::vector<CopyId> all_restored();

  // A copy will not be filled after all. not_found: `writer` fills no such copy.
  [[nodiscard]] Result<void> drop(ClientNumber writer, CopyId copy);

  // The copy of a shard on a device that `reader` maps from now on: of the version that is named
  // or, without a name, of the newest that shows and has that shard there. Attaching again changes
  // nothing. What other copies of that version it reads stays.
  //   not_found              no such model or version shows
  //   invalid_argument       it has another number of shards
  //   failed_precondition    that shard is not on that device; the message names where it is
  struct Attached {
    CopyId copy = 0;
    std::string version{};
  };
  [[nodiscard]] Result<Attached> attach(ClientNumber reader, const ShardName& name,
                                        const DeviceUuid& device);
  // Whether attach() may find later what it does not find now: of a version that fits and is not
  // superseded, this shard is being published on this device, or is there while others are not.
  [[nodiscard]] bool may_come(const ShardName& name, const DeviceUuid& device) const;
  // Answers the copies to forget. not_found: it does not read that.
  [[nodiscard]] Result<std::vector<CopyId>> detach(ClientNumber reader, CopyId copy);

  // A client has gone: what it was filling and what it read. Answers the copies to forget.
  [[nodiscard]] std::vector<CopyId> gone(ClientNumber client);
  // A version's copies on a device are to go at once, whatever an earlier keeper's readers do.
  // Answers them.
  //   not_found            there are none
  //   failed_precondition  somebody reads or fills one, or it is the only one of its shard
  [[nodiscard]] Result<std::vector<CopyId>> drop_unread(const std::string& model,
                                                        const std::string& version,
                                                        const DeviceUuid& device);
  // A version is to go, as if a newer one showed: at once, or with its last reader. Answers the
  // copies to forget. not_found: there is no such version.
  [[nodiscard]] Result<std::vector<CopyId>> retire(const std::string& model,
                                                   const std::string& version);

  [[nodiscard]] bool knows(ClientNumber client) const;  // it fills or reads something
  [[nodiscard]] bool fills(ClientNumber writer, CopyId copy) const;
  [[nodiscard]] bool reads(ClientNumber reader, CopyId copy) const;
  // The copies of a version that are there or being filled. Empty where there is none.
  [[nodiscard]] std::vector<CopyId> copies_of(const std::string& model,
                                              const std::string& version) const;
  // What a copy was opened as; nothing of one that is not there.
  struct Opened {
    ShardName shard;
    DeviceUuid device;
    Opening as;
  };
  [[nodiscard]] Opened opened_as(CopyId copy) const;
  [[nodiscard]] std::vector<VersionStatus> status() const;  // by model, the oldest version first

 private:
  struct Copy {
    std::uint32_t shard = 0;
    DeviceUuid device;
    std::optional<ClientNumber> writer{};  // while it is being filled
    bool spare = false;
    bool restored = false;
    std::uint64_t last_used = 0;
    std::set<ClientNumber> readers{};
  };
  struct Version {
    std::string model, name;
    std::uint32_t shards = 1;
    bool retired = false;
    std::map<CopyId, Copy> copies{};

    [[nodiscard]] bool shows() const;
    [[nodiscard]] bool unread() const;
    [[nodiscard]] bool has(std::uint32_t wanted, const DeviceUuid& where) const;  // not filling
  };
  using Versions = std::map<std::uint64_t, Version>;  // in the order of their first copies

  [[nodiscard]] Versions::iterator find(const std::string& model, const std::string& version);
  // The newest version that shows: one with this shard on this device if there is any, else of any.
  [[nodiscard]] Versions::iterator newest_shown(const ShardName& name, const DeviceUuid& device);
  [[nodiscard]] Versions::iterator version_of(CopyId copy);
  [[nodiscard]] const Copy* find_copy(CopyId copy) const;
  // Whether a version that is left in host memory alone goes as soon as a newer one shows.
  enum class Spares : std::uint8_t { go_with_the_rest, stay_by_themselves };
  void supersede_older(const std::string& model, Spares spares);
  [[nodiscard]] static bool replaces(const Version& newer, const Version& older, const Copy& copy);
  // Versions that are retired and unread, and those without a copy.
  [[nodiscard]] std::vector<CopyId> sweep();

  Versions versions_;
  std::uint64_t next_version_ = 1;
  CopyId next_copy_ = 1;
  std::uint64_t uses_ = 0;
};

}  // namespace aqua::sharing
