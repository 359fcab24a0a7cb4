// SPDX-License-Identifier: Apache-2.0
// Reading: of all files when the log is opened, and of single blobs.
#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/keeper/disk/blob_log.hpp"

namespace aqua::keeper {
namespace {

using blob_log::kFileHeadBytes;
using blob_log::kRecordHeadBytes;

Error decay_at(LogFile file, std::uint64_t offset) {
  return Error{Code::data_loss, concat("blob log: file ", file, " has decayed at byte ", offset,
                                       ": what had been synced there cannot be read")};
}

Error in_file(LogFile file, const Error& error) {
  return Error{error.code, concat("blob log: file ", file, ": ", error.message)};
}

}  // namespace

Result<BlobLog> BlobLog::open(std::unique_ptr<LogDirectory> directory,
                              const BlobLogOptions& options, const Check& check) {
  if (options.file_bytes == 0 || options.most_bytes / 2 < options.file_bytes) {
    return Error{Code::invalid_argument,
                 concat("blob log: most_bytes is ", options.most_bytes,
                        ": at least twice file_bytes, which is ", options.file_bytes)};
  }
  BlobLog log(std::move(directory), options);
  AQUA_ASSIGN(const std::vector<LogDirectory::Entry> found, log.directory_->list());
  for (const LogDirectory::Entry& entry : found) {
    const bool last = &entry == &found.back();
    AQUA_TRY(log.read_head_of(entry, last));
    if (log.files_.contains(entry.file)) {
      AQUA_TRY(log.scan(entry.file, entry.bytes, last, check));
    }
  }
  if (log.files_.empty()) AQUA_TRY(log.next_file());
  // What a process that was killed had written may be in the system's memory alone.
  AQUA_TRY(log.sync_last());
  return log;
}

// A power cut may leave the last file without a head, as it was created and not yet synced.
Result<void> BlobLog::read_head_of(LogDirectory::Entry entry, bool last) {
  if (entry.bytes >= kFileHeadBytes) {
    std::array<std::byte, kFileHeadBytes> head;
    AQUA_TRY(directory_->read(entry.file, 0, head));
    const auto nonce = blob_log::decode_file_head(head);
    if (nonce.ok()) {
      files_[entry.file] = {.bytes = kFileHeadBytes, .nonce = *nonce};
      return {};
    }
    const bool another = nonce.error().code == Code::failed_precondition;
    const bool is_ours = !files_.empty() && !another;  // the one before was
    if (is_ours && !last) return decay_at(entry.file, 0);
    if (!last || another || entry.bytes > kFileHeadBytes) return in_file(entry.file, nonce.error());
  } else if (!last) {
    return decay_at(entry.file, 0);
  }
  std::vector<std::byte> left(entry.bytes);
  AQUA_TRY(directory_->read(entry.file, 0, left));
  if (!blob_log::may_be_left_of_file_head(left)) {
    return in_file(entry.file, {Code::invalid_argument, "not a file of a blob log"});
  }
  cut_bytes_ += entry.bytes;
  return directory_->remove(entry.file);
}

Result<std::optional<BlobLog::Place>> BlobLog::place_at(LogFile file, std::uint64_t offset,
                                                        std::uint64_t bytes) {
  if (bytes - offset < kRecordHeadBytes) return std::optional<Place>();
  std::array<std::byte, kRecordHeadBytes> raw;
  AQUA_TRY(directory_->read(file, offset, raw));
  const auto head = blob_log::decode(raw, files_.at(file).nonce);
  if (!head || record_bytes(*head) > bytes - offset) return std::optional<Place>();
  return std::optional<Place>({.file = file, .offset = offset, .head = *head});
}

Result<std::string> BlobLog::key_of(const Place& place) {
  std::string key(place.head.key_bytes, '\0');
  AQUA_TRY(directory_->read(place.file, place.offset + blob_log::key_offset(),
                            std::as_writable_bytes(std::span(key))));
  return key;
}

Result<void> BlobLog::scan(LogFile file, std::uint64_t bytes, bool last, const Check& check) {
  std::vector<std::pair<std::string, Place>> records;
  std::uint64_t end = kFileHeadBytes, synced = 0;
  while (end < bytes) {
    AQUA_ASSIGN(const std::optional<Place> place, place_at(file, end, bytes));
    if (!place) break;
    AQUA_ASSIGN(std::string key, key_of(*place));
    if (blob_log::hash_of(std::as_bytes(std::span(key))) != place->head.key_hash) break;
    end += record_bytes(place->head);
    synced = std::max(synced, place->head.synced);
    records.emplace_back(std::move(key), *place);
  }
  if (last) AQUA_TRY(cut_at_torn_body(records, synced, end));
  for (const auto& [key, place] : records) {
    if (!check || place.head.kind != blob_log::Kind::put) continue;
    AQUA_TRY(check(key, place.head.body_bytes));
  }
  files_.at(file).bytes = end;
  said_ = records.empty() ? 0 : records.back().second.head.synced;
  for (auto& [key, place] : records) apply(std::move(key), place);
  return end == bytes ? Result<void>() : cut(file, end, bytes, last);
}

// Below what a later record says was synced bodies are looked at when they are read. Of a name that
// has a later record here the body may have been given back: it counts only once that is cut off.
Result<void> BlobLog::cut_at_torn_body(std::vector<std::pair<std::string, Place>>& records,
                                       std::uint64_t synced, std::uint64_t& end) {
  std::map<std::size_t, bool> looked_at;  // by record: whether it is right
  for (bool torn = true; torn;) {
    torn = false;
    std::map<std::string_view, std::size_t> newest;
    for (std::size_t i = 0; i < records.size(); ++i) newest[records[i].first] = i;
    for (std::size_t i = 0; i < records.size(); ++i) {
      const auto& [name, place] = records[i];
      if (place.offset + record_bytes(place.head) <= synced || newest.at(name) != i) continue;
      if (!looked_at.contains(i)) {
        AQUA_ASSIGN(looked_at[i], body_is_right(place));
      }
      if (looked_at.at(i)) continue;
      end = place.offset;
      records.resize(i);
      torn = true;
    }
  }
  return {};
}

Result<void> BlobLog::cut(LogFile file, std::uint64_t offset, std::uint64_t bytes, bool last) {
  if (!last) return decay_at(file, offset);
  AQUA_ASSIGN(const std::uint64_t synced, synced_by_later(file, offset, bytes));
  if (synced > offset) return decay_at(file, offset);
  cut_bytes_ += bytes - offset;
  return directory_->truncate(file, offset);
}

Result<std::uint64_t> BlobLog::synced_by_later(LogFile file, std::uint64_t offset,
                                               std::uint64_t bytes) {
  std::uint64_t synced = 0;
  const blob_log::Nonce nonce = files_.at(file).nonce;
  // Pieces overlap by a head, which may begin at each multiple of 8.
  for (std::uint64_t at = offset; bytes - at >= kRecordHeadBytes;) {
    const std::size_t count = std::min<std::uint64_t>(buffer_.size(), bytes - at);
    const std::span<std::byte> piece = std::span(buffer_).first(count);
    AQUA_TRY(directory_->read(file, at, piece));
    for (std::size_t i = 0; i + kRecordHeadBytes <= count; i += 8) {
      const auto head = blob_log::decode(
          std::span<const std::byte, kRecordHeadBytes>(piece.subspan(i, kRecordHeadBytes)), nonce);
      if (head) synced = std::max(synced, head->synced);
    }
    if (at + count == bytes) break;
    at += (count - kRecordHeadBytes) / 8 * 8 + 8;
  }
  return synced;
}

Result<void> BlobLog::read_body(const Place& place,
                                const std::function<void(std::span<const std::byte>)>& sink) {
  blob_log::Hasher hasher;
  std::uint64_t at = place.offset + body_offset(place.head);
  for (std::uint64_t left = place.head.body_bytes; left > 0;) {
    const std::size_t count = std::min<std::uint64_t>(buffer_.size(), left);
    const std::span<std::byte> piece = std::span(buffer_).first(count);
    AQUA_TRY(directory_->read(place.file, at, piece));
    hasher.add(piece);
    sink(piece);
    at += count;
    left -= count;
  }
  if (hasher.value() == place.head.body_hash) return {};
  return Error{Code::data_loss,
               concat("has changed on the disk (file ", place.file, ", byte ", place.offset, ")")};
}

Result<bool> BlobLog::body_is_right(const Place& place) {
  if (place.head.kind == blob_log::Kind::erase) return true;
  const auto read = read_body(place, [](std::span<const std::byte>) {});
  if (read.ok()) return true;
  if (read.error().code == Code::data_loss) return false;
  return read.error();
}

Result<void> BlobLog::read(std::string_view name,
                           const std::function<void(std::span<const std::byte>)>& sink) {
  const auto found = blobs_.find(name);
  if (found == blobs_.end()) return Error{Code::not_found, concat("read: no blob '", name, "'")};
  auto read = read_body(found->second, sink);
  if (read.ok()) return read;
  return Error{read.error().code, concat("read: '", name, "' ", read.error().message)};
}

Result<std::vector<std::byte>> BlobLog::read(std::string_view name) {
  std::vector<std::byte> bytes;
  AQUA_TRY(read(name, [&](std::span<const std::byte> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  }));
  return bytes;
}

std::optional<std::uint64_t> BlobLog::bytes_of(std::string_view name) const {
  const auto found = blobs_.find(name);
  if (found == blobs_.end()) return std::nullopt;
  return found->second.head.body_bytes;
}

std::vector<std::string> BlobLog::names() const {
  std::vector<std::string> names;
  for (const auto& [name, place] : blobs_) names.push_back(name);
  return names;
}

}  // namespace aqua::keeper
