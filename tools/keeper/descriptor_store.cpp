// SPDX-License-Identifier: Apache-2.0
#include "tools/keeper/descriptor_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <variant>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/memory/memfd.hpp"
#include "base/shallow_json.hpp"
#include "base/step.hpp"
#include "base/try.hpp"
#include "systems/sharing/decide/manifest_limits.hpp"

namespace aqua::keeper {
namespace {

constexpr std::chrono::milliseconds kPatience{2000};
constexpr std::size_t kMostRecord = std::size_t{4} << 20;  // bytes
constexpr std::string_view kManifest = "manifest";
constexpr std::string_view kRecord = "record";

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Splits NAME-PART into the number in NAME, and PART.
std::optional<std::pair<std::uint64_t, std::string_view>> parts_of(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (!text.starts_with('c') || dash == std::string_view::npos) return std::nullopt;
  const auto number = number_of(text.substr(1, dash - 1));
  if (!number) return std::nullopt;
  return std::pair{*number, text.substr(dash + 1)};
}

Result<void> store(const std::string& name, int fd) {
  // FDPOLL=0: a descriptor of a device may look hung up.
  return daemon::notify(concat("FDSTORE=1\nFDPOLL=0\nFDNAME=", name), {&fd, 1}, kPatience);
}

// Two lines: the request to publish, and the bytes of each slab as a JSON list.
std::string record_of(const KeptCopy& copy, const sharing::wire::Publish& what) {
  nlohmann::json sizes = nlohmann::json::array();
  for (const KeptSlab& slab : copy.slabs) sizes.push_back(slab.bytes);
  return concat(sharing::wire::encode(sharing::wire::Request(what)), "\n", sizes.dump());
}

Result<UniqueFd> file_of(const std::string& text) {
  UniqueFd fd = create_memfd("aqua-record");
  if (!fd.valid()) return errno_error("memfd_create");
  if (::pwrite(fd.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return errno_error("write");
  }
  return fd;
}

Result<void> store_all(const KeptCopy& copy, const sharing::wire::Publish& what) {
  for (std::size_t i = 0; i < copy.slabs.size(); ++i) {
    AQUA_TRY(store(concat(copy.stored, "-", i), copy.slabs[i].fd.get()));
  }
  AQUA_TRY(store(concat(copy.stored, "-", kManifest), copy.manifest.get()));
  AQUA_ASSIGN(const UniqueFd record, file_of(record_of(copy, what)));
  step("store");
  return store(concat(copy.stored, "-", kRecord), record.get());
}

Error not_whole(std::string_view what) {
  return Error{Code::invalid_argument, concat("stored copy: ", what)};
}

Result<std::vector<std::uint64_t>> sizes_in(std::string_view text) {
  const auto json = parse_shallow(text, 1);
  if (!json.is_array()) return not_whole("its record has no sizes");
  std::vector<std::uint64_t> sizes;
  for (const auto& size : json) {
    if (!size.is_number_unsigned()) return not_whole("its record has a size that is none");
    sizes.push_back(size.get<std::uint64_t>());
  }
  return sizes;
}

}  // namespace

std::vector<StoredCopy> sort_out(std::vector<daemon::NamedDescriptor> passed) {
  std::map<std::uint64_t, StoredCopy> copies;
  for (daemon::NamedDescriptor& one : passed) {
    const auto parts = parts_of(one.name);
    if (!parts) continue;
    StoredCopy& copy = copies[parts->first];
    copy.name = concat("c", parts->first);
    if (parts->second == kManifest) {
      copy.manifest = std::move(one.fd);
    } else if (parts->second == kRecord) {
      copy.record = std::move(one.fd);
    } else if (const auto slab = number_of(parts->second);
               slab && *slab < sharing::kMostManifestSlabs) {
      if (copy.slabs.size() <= *slab) copy.slabs.resize(*slab + 1);
      copy.slabs[*slab] = std::move(one.fd);
    }
  }
  std::vector<StoredCopy> sorted;
  sorted.reserve(copies.size());
  for (auto& [number, copy] : copies) sorted.push_back(std::move(copy));
  return sorted;
}

Result<StoredRecord> read_record(const StoredCopy& copy) {
  struct stat info {};
  if (!copy.record.valid() || ::fstat(copy.record.get(), &info) != 0)
    return not_whole("has no record");
  if (info.st_size <= 0 || static_cast<std::uint64_t>(info.st_size) > kMostRecord) {
    return not_whole("its record is empty or too long");
  }
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  if (::pread(copy.record.get(), text.data(), text.size(), 0) != info.st_size) {
    return errno_error("stored copy: its record");
  }
  const std::size_t line = std::min(text.find('\n'), text.size());
  AQUA_ASSIGN(const auto request, sharing::wire::decode_request(text.substr(0, line)));
  const auto* const publish = std::get_if<sharing::wire::Publish>(&request);
  if (publish == nullptr) return not_whole("its record is of something else");
  StoredRecord record{.publish = *publish};
  AQUA_ASSIGN(record.bytes, sizes_in(std::string_view(text).substr(line)));
  const bool whole = std::all_of(copy.slabs.begin(), copy.slabs.end(),
                                 [](const UniqueFd& fd) { return fd.valid(); });
  if (!whole || copy.slabs.size() != record.bytes.size() || !copy.manifest.valid()) {
    return not_whole("slabs or its manifest are missing");
  }
  return record;
}

void DescriptorStore::skip(std::string_view name) {
  const auto number = number_of(name.substr(1));
  if (number) last_ = std::max(last_, *number);
}

void DescriptorStore::keep(KeptCopy& copy, const sharing::wire::Publish& what) {
  if (!daemon::has_notify_socket()) return;
  copy.stored = concat("c", copy.number);
  const auto stored = store_all(copy, what);
  if (stored.ok()) return;
  std::fprintf(stderr, "aqua-keeper: %s %s would not outlive this keeper: %s\n",
               what.shard.model.c_str(), what.shard.version.c_str(),
               stored.error().message.c_str());
  forget(copy);
}

void DescriptorStore::forget(KeptCopy& copy) {
  if (!copy.stored.empty()) remove(std::exchange(copy.stored, {}), copy.slabs.size());
}

void DescriptorStore::remove(const std::string& name, std::size_t slabs) {
  const auto removed = [&](const auto& part) {
    return daemon::notify(concat("FDSTOREREMOVE=1\nFDNAME=", name, "-", part), {}, kPatience).ok();
  };
  // The record first: without it the rest is nothing. The first failure is the last: whoever does
  // not read would be waited for again and again.
  if (!removed(kRecord) || !removed(kManifest)) return;
  // The last one first, so that a keeper which dies here leaves the next one a count of the rest.
  for (std::size_t i = slabs; i-- > 0;) {
    if (!removed(i)) return;
  }
}

}  // namespace aqua::keeper
