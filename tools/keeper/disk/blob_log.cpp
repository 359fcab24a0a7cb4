// SPDX-License-Identifier: Apache-2.0
// Changes. A record's body and name are written before its head, so that without the head there is
// no record. A file is synced before the next one begins, so that a power cut leaves a damaged end
// in the last one alone. A file is removed once what was left of it is synced elsewhere, the oldest
// first, so that an erase is never forgotten before what it erased. The body of what was erased is
// given back once its erase is synced, and never where open() would look at it.
#include "tools/keeper/disk/blob_log.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::keeper {
namespace {

using blob_log::RecordHead;

constexpr std::size_t kPiece = std::size_t{1} << 20;  // bytes that are read or written at once
constexpr std::array<std::byte, 8> kZeroes{};

blob_log::Nonce draw_nonce() {
  std::random_device random;
  return (blob_log::Nonce{random()} << 32) | random();
}

}  // namespace

BlobLog::BlobLog(std::unique_ptr<LogDirectory> directory, const BlobLogOptions& options)
    : directory_(std::move(directory)), options_(options), buffer_(kPiece) {}

Result<void> BlobLog::noted(Result<void> outcome) {
  if (!outcome.ok() && !broken_) broken_ = outcome.error();
  return outcome;
}

Result<void> BlobLog::check_writable() const {
  if (!broken_) return {};
  return Error{Code::failed_precondition,
               concat("blob log: nothing can be changed since: ", broken_->message)};
}

Result<void> BlobLog::put(std::string_view name, std::uint64_t bytes, const Source& source) {
  AQUA_TRY(check_writable());
  if (name.empty() || name.size() > blob_log::kMostKeyBytes) {
    return Error{Code::invalid_argument, concat("put: a name of ", name.size(), " bytes, of 1 to ",
                                                blob_log::kMostKeyBytes)};
  }
  if (bytes > blob_log::kMostBodyBytes) {
    return Error{Code::invalid_argument,
                 concat("put: ", bytes, " bytes, of at most ", blob_log::kMostBodyBytes)};
  }
  const RecordHead head{.kind = blob_log::Kind::put,
                        .key_bytes = static_cast<std::uint32_t>(name.size()),
                        .body_bytes = bytes};
  AQUA_TRY(make_room(record_bytes(head)));
  return append(name, head, source, std::nullopt);
}

Result<void> BlobLog::put(std::string_view name, std::span<const std::byte> bytes) {
  return put(name, bytes.size(), [&](std::uint64_t offset, std::span<std::byte> into) {
    std::ranges::copy(bytes.subspan(offset, into.size()), into.begin());
    return Result<void>();
  });
}

Result<void> BlobLog::erase(std::string_view name) {
  AQUA_TRY(check_writable());
  if (!blobs_.contains(name)) return Error{Code::not_found, concat("erase: no blob '", name, "'")};
  const RecordHead head{.kind = blob_log::Kind::erase,
                        .key_bytes = static_cast<std::uint32_t>(name.size())};
  return append(name, head, nullptr, std::nullopt);
}

Result<void> BlobLog::sync() {
  AQUA_TRY(sync_last());
  give_back();
  return {};
}

Result<void> BlobLog::sync_last() {
  AQUA_TRY(check_writable());
  const auto& [file, state] = *files_.rbegin();
  AQUA_TRY(noted(directory_->sync(file)));
  synced_ = state.bytes;
  dead_.insert(dead_.end(), newly_dead_.begin(), newly_dead_.end());
  newly_dead_.clear();
  return {};
}

// Everything is synced here. In the last file open() reads the bodies beyond what a record says had
// been synced, also those of blobs that were erased later: they stay until there is such a record,
// or another file.
void BlobLog::give_back() {
  const LogFile last = files_.rbegin()->first;
  std::erase_if(dead_, [&](const DeadExtent& extent) {
    if (!files_.contains(extent.file)) return true;
    const bool is_looked_at = extent.file == last && extent.offset + extent.bytes > said_;
    if (!is_looked_at) directory_->discard(extent.file, extent.offset, extent.bytes);
    return !is_looked_at;
  });
}

Result<bool> BlobLog::clean() {
  AQUA_TRY(check_writable());
  if (synced_ == files_.rbegin()->second.bytes) give_back();
  if (file_bytes() < 2 * live_bytes_ + options_.file_bytes) return false;
  auto cleaned = clean_oldest();
  if (!cleaned.ok() && !broken_) AQUA_TRY(sync());  // what was copied makes room all the same
  AQUA_TRY(std::move(cleaned));
  return true;
}

std::uint64_t BlobLog::file_bytes() const {
  std::uint64_t all = 0;
  for (const auto& [file, state] : files_) all += state.bytes;
  return all;
}

// One file's worth of room is kept for cleaning, which copies before it removes.
Result<void> BlobLog::make_room(std::uint64_t bytes) {
  const std::uint64_t most = options_.most_bytes - options_.file_bytes;
  const Error full{Code::resource_exhausted, concat("put: ", bytes, " bytes, and ", live_bytes_,
                                                    " of ", most, " are in use")};
  if (bytes > most || live_bytes_ > most - bytes) return full;
  for (std::size_t cleaned = 0, all = files_.size() + 1; file_bytes() + bytes > most; ++cleaned) {
    if (cleaned == all) return full;
    AQUA_TRY(clean_oldest());
  }
  return {};
}

Result<void> BlobLog::next_file() {
  LogFile file = 1;
  if (!files_.empty()) {
    AQUA_TRY(sync());
    file = files_.rbegin()->first + 1;
  }
  const blob_log::Nonce nonce = draw_nonce();
  const auto begin = [&]() -> Result<void> {
    AQUA_TRY(directory_->create(file));
    AQUA_TRY(directory_->write(file, 0, blob_log::encode_file_head(nonce)));
    return directory_->sync(file);
  };
  if (auto begun = begin(); !begun.ok()) {
    if (begun.error().code != Code::resource_exhausted) return noted(std::move(begun));
    // The disk is full, which passes. Nothing is in the file, and nothing stays of it.
    auto removed = directory_->remove(file);
    const bool is_gone = removed.ok() || removed.error().code == Code::not_found;
    if (!is_gone) AQUA_TRY(noted(std::move(removed)));
    return begun;
  }
  files_[file] = {.bytes = blob_log::kFileHeadBytes, .nonce = nonce};
  synced_ = blob_log::kFileHeadBytes;
  said_ = 0;
  return {};
}

Result<void> BlobLog::clean_oldest() {
  if (files_.size() == 1) AQUA_TRY(next_file());
  const LogFile oldest = files_.begin()->first;
  std::vector<std::pair<std::string, Place>> left;
  for (const auto& [name, place] : blobs_) {
    if (place.file == oldest) left.emplace_back(name, place);
  }
  for (const auto& [name, place] : left) {
    const std::uint64_t body = place.offset + body_offset(place.head);
    const auto old = [&](std::uint64_t offset, std::span<std::byte> into) {
      return directory_->read(oldest, body + offset, into);
    };
    auto moved = append(name, place.head, old, place.head.body_hash);
    if (!moved.ok() && moved.error().code == Code::data_loss && !broken_) {
      ++decayed_;
      moved = erase(name);
    }
    AQUA_TRY(std::move(moved));
  }
  AQUA_TRY(sync());
  AQUA_TRY(noted(directory_->remove(oldest)));
  files_.erase(oldest);
  return {};
}

Result<void> BlobLog::append(std::string_view name, RecordHead head, const Source& source,
                             std::optional<std::uint64_t> wanted) {
  if (files_.rbegin()->second.bytes >= options_.file_bytes) AQUA_TRY(next_file());
  auto& [file, state] = *files_.rbegin();
  const std::uint64_t offset = state.bytes;
  auto written = write_record(name, head, source, wanted);
  if (!written.ok()) {
    // Nothing of it stays that could be read as something else behind the next record.
    AQUA_TRY(noted(directory_->truncate(file, offset)));
    return written;
  }
  state.bytes += record_bytes(head);
  said_ = head.synced;
  apply(std::string(name), {.file = file, .offset = offset, .head = head});
  return {};
}

Result<void> BlobLog::write_record(std::string_view name, RecordHead& head, const Source& source,
                                   std::optional<std::uint64_t> wanted) {
  const LogFile file = files_.rbegin()->first;
  const File& state = files_.rbegin()->second;
  std::uint64_t at = state.bytes + body_offset(head);
  const auto pad = [&](std::uint64_t bytes) {
    return directory_->write(file, at, std::span(kZeroes).first(blob_log::padded(bytes) - bytes));
  };
  blob_log::Hasher hasher;
  for (std::uint64_t done = 0; done < head.body_bytes;) {
    const std::size_t count = std::min<std::uint64_t>(kPiece, head.body_bytes - done);
    const std::span<std::byte> piece = std::span(buffer_).first(count);
    AQUA_TRY(source(done, piece));
    hasher.add(piece);
    AQUA_TRY(directory_->write(file, at, piece));
    done += count;
    at += count;
  }
  AQUA_TRY(pad(head.body_bytes));
  head.body_hash = hasher.value();
  if (wanted && *wanted != head.body_hash) {
    return Error{Code::data_loss, concat("'", name, "' has changed on the disk")};
  }
  const auto key = std::as_bytes(std::span(name.data(), name.size()));
  head.key_hash = blob_log::hash_of(key);
  head.synced = synced_;
  at = state.bytes + blob_log::key_offset();
  AQUA_TRY(directory_->write(file, at, key));
  at += key.size();
  AQUA_TRY(pad(key.size()));
  return directory_->write(file, state.bytes, blob_log::encode(head, state.nonce));
}

void BlobLog::apply(std::string name, const Place& place) {
  forget(name);
  if (place.head.kind == blob_log::Kind::erase) return;
  live_bytes_ += record_bytes(place.head);
  blobs_.insert_or_assign(std::move(name), place);
}

void BlobLog::forget(std::string_view name) {
  const auto found = blobs_.find(name);
  if (found == blobs_.end()) return;
  const Place& place = found->second;
  live_bytes_ -= record_bytes(place.head);
  if (place.head.body_bytes != 0) {
    newly_dead_.push_back({place.file, place.offset + body_offset(place.head),
                           blob_log::padded(place.head.body_bytes)});
  }
  blobs_.erase(found);
}

}  // namespace aqua::keeper
