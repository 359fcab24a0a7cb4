// SPDX-License-Identifier: Apache-2.0
// BlobLog keeps blobs on a disk, each under a name, in files that are only appended to. What was
// put and synced is there after the death of the process and after a power cut, whole and unchanged
// or, where the disk has decayed, not at all: a body that does not match its hash is never given.
//
//   auto log = BlobLog::open(std::move(directory), {.most_bytes = 64_GiB});
//   log->put("sequence 7", bytes);
//   log->sync();                    // until then a power cut may take it back
//   log->read("sequence 7");
//
// The disk has the room of what was erased or replaced back once that is synced, if it takes back
// parts of files. The room within most_bytes comes back when the oldest file is cleaned: what is
// left of it is put once more, and the file is removed (clean(), and put() for want of room).
//
// Threads: one at a time.
// Owns:    the directory's files; nobody else may write there while it is open.
// Units:   bytes.
// Errors:  those of the directory's calls. A write that fails (a full disk) changes nothing. Once a
//          sync has failed every change fails with failed_precondition, since nobody knows what is
//          on the disk. What is there is still read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aqua/result.hpp"
#include "tools/keeper/disk/log_directory.hpp"
#include "tools/keeper/disk/record.hpp"

namespace aqua::keeper {

struct BlobLogOptions {
  // The bytes of all files together; while one is cleaned, those of its largest record more.
  std::uint64_t most_bytes = 0;
  std::uint64_t file_bytes = std::uint64_t{256} << 20;  // a file is closed once it has so many
};

class BlobLog {
 public:
  // Fills `into` with the bytes of a blob from `offset` on.
  using Source = std::function<Result<void>(std::uint64_t offset, std::span<std::byte> into)>;
  // Whether a blob that is found is the caller's.
  using Check = std::function<Result<void>(std::string_view name, std::uint64_t bytes)>;

  // Reads all heads, and of the last file every body. What a power cut has left of a record at the
  // end of it is cut off: cut_bytes().
  //   data_loss            a file has decayed: a record that had been synced cannot be read
  //   failed_precondition  a log of another version
  //   invalid_argument     a file that is no log; options that cannot be
  //   of the check         its error
  // After an error nothing there has changed, unless the disk has failed.
  [[nodiscard]] static Result<BlobLog> open(std::unique_ptr<LogDirectory> directory,
                                            const BlobLogOptions& options, const Check& check = {});

  // Replaces what had this name; if it fails, that stays.
  //   invalid_argument    a name of no bytes, or of more than 1024; more than 2^40 bytes
  //   resource_exhausted  more than there is room for, when everything has been cleaned
  //   of the source       its error, and nothing is changed
  [[nodiscard]] Result<void> put(std::string_view name, std::uint64_t bytes, const Source& source);
  [[nodiscard]] Result<void> put(std::string_view name, std::span<const std::byte> bytes);
  // not_found: there is none of this name.
  [[nodiscard]] Result<void> erase(std::string_view name);
  // Everything so far is there after a power cut once this has returned.
  [[nodiscard]] Result<void> sync();

  // data_loss: the bytes are not what was put. not_found.
  [[nodiscard]] Result<std::vector<std::byte>> read(std::string_view name);
  // The same by pieces, in order. The sink must not be believed before this has returned.
  [[nodiscard]] Result<void> read(std::string_view name,
                                  const std::function<void(std::span<const std::byte>)>& sink);
  // Nothing: there is none of this name.
  [[nodiscard]] std::optional<std::uint64_t> bytes_of(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> names() const;  // in order

  // Cleans the oldest file if less than half of all is in use, and says whether it did. Gives back
  // the room of what had been erased before the log was opened.
  [[nodiscard]] Result<bool> clean();

  [[nodiscard]] std::uint64_t file_bytes() const;                       // of all files
  [[nodiscard]] std::uint64_t cut_bytes() const { return cut_bytes_; }  // by open()
  // Blobs that clean() found changed on the disk, and dropped.
  [[nodiscard]] std::uint64_t decayed() const { return decayed_; }
  // False after a failure that only another open() ends.
  [[nodiscard]] bool writable() const { return !broken_; }

 private:
  // Where the record of a name is.
  struct Place {
    LogFile file = 0;
    std::uint64_t offset = 0;
    blob_log::RecordHead head;
  };
  struct File {
    std::uint64_t bytes = 0;  // up to the end of its last record
    blob_log::Nonce nonce = 0;
  };
  // The bytes of a body that no blob has any more.
  struct DeadExtent {
    LogFile file = 0;
    std::uint64_t offset = 0, bytes = 0;
  };

  BlobLog(std::unique_ptr<LogDirectory> directory, const BlobLogOptions& options);

  [[nodiscard]] Result<void> read_head_of(LogDirectory::Entry entry, bool last);
  [[nodiscard]] Result<void> scan(LogFile file, std::uint64_t bytes, bool last, const Check& check);
  // Lets go of the records from the first one on whose body is not what was put.
  [[nodiscard]] Result<void> cut_at_torn_body(std::vector<std::pair<std::string, Place>>& records,
                                              std::uint64_t synced, std::uint64_t& end);
  // What begins at `offset` cannot be read: the end that a power cut has left, or decay.
  [[nodiscard]] Result<void> cut(LogFile file, std::uint64_t offset, std::uint64_t bytes,
                                 bool last);
  // The furthest that a record beyond `offset` says had been synced.
  [[nodiscard]] Result<std::uint64_t> synced_by_later(LogFile file, std::uint64_t offset,
                                                      std::uint64_t bytes);
  // Nothing: what is there is no record.
  [[nodiscard]] Result<std::optional<Place>> place_at(LogFile file, std::uint64_t offset,
                                                      std::uint64_t bytes);
  [[nodiscard]] Result<std::string> key_of(const Place& place);
  [[nodiscard]] Result<void> read_body(const Place& place,
                                       const std::function<void(std::span<const std::byte>)>& sink);
  [[nodiscard]] Result<bool> body_is_right(const Place& place);
  void apply(std::string name, const Place& place);
  void forget(std::string_view name);

  // Without giving anything back.
  [[nodiscard]] Result<void> sync_last();
  // Gives back the room of bodies whose end is synced.
  void give_back();

  [[nodiscard]] Result<void> check_writable() const;
  [[nodiscard]] Result<void> make_room(std::uint64_t bytes);
  [[nodiscard]] Result<void> next_file();
  [[nodiscard]] Result<void> clean_oldest();
  // `wanted`: the hash that the body has to have; without it any.
  [[nodiscard]] Result<void> append(std::string_view name, blob_log::RecordHead head,
                                    const Source& source, std::optional<std::uint64_t> wanted);
  [[nodiscard]] Result<void> write_record(std::string_view name, blob_log::RecordHead& head,
                                          const Source& source,
                                          std::optional<std::uint64_t> wanted);
  // Remembers the first failure after which nobody knows what is on the disk.
  [[nodiscard]] Result<void> noted(Result<void> outcome);

  std::unique_ptr<LogDirectory> directory_;
  BlobLogOptions options_;
  std::map<LogFile, File> files_;  // the last one is appended to
  std::map<std::string, Place, std::less<>> blobs_;
  std::uint64_t live_bytes_ = 0;
  std::uint64_t synced_ = 0;            // of the last file
  std::uint64_t said_ = 0;              // how much of that its last record says
  std::vector<DeadExtent> newly_dead_;  // since the last sync
  std::vector<DeadExtent> dead_;        // that are not given back
  std::uint64_t cut_bytes_ = 0;
  std::uint64_t decayed_ = 0;
  std::optional<Error> broken_;
  std::vector<std::byte> buffer_;
};

}  // namespace aqua::keeper
