// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>
#include <utility>

#include "capi/sized.hpp"
#include "systems/sharing/capi/objects.hpp"

using namespace aqua::capi;
using aqua::Code;
using aqua::Error;
using aqua::Result;
using aqua::sharing::ElementType;
using aqua::sharing::Manifest;

namespace {

// The number of a type in the manifest, which gets it if it has not got it.
std::uint32_t number_of(Manifest& manifest, ElementType type) {
  const auto known = std::ranges::find(manifest.types, type);
  const auto number = static_cast<std::uint32_t>(known - manifest.types.begin());
  if (known == manifest.types.end()) manifest.types.push_back(std::move(type));
  return number;
}

Result<Manifest> manifest_of(const char* what, const aqua_weights_options& options,
                             std::span<const aqua_weight_spec> tensors) {
  Manifest manifest{.model = string_or_empty(options.model),
                    .version = string_or_empty(options.version),
                    .shard = options.shard,
                    .shards = options.shards};
  for (const aqua_weight_spec& spec : tensors) {
    if (spec.axes > AQUA_WEIGHT_AXES) {
      return Error{Code::invalid_argument,
                   aqua::concat(what, ": ", string_or_empty(spec.name), " has ", spec.axes,
                                " axes, expected at most ", AQUA_WEIGHT_AXES)};
    }
    const std::span<const std::uint64_t> shape(spec.shape, spec.axes);
    manifest.tensors.push_back({.name = string_or_empty(spec.name),
                                .type = number_of(manifest, {.name = string_or_empty(spec.type),
                                                             .elements = spec.block_elements,
                                                             .bytes = spec.block_bytes}),
                                .shape = {shape.begin(), shape.end()}});
  }
  AQUA_TRY(aqua::sharing::lay_out(manifest));
  return manifest;
}

template <typename Use>
Result<void> use_publisher(const char* what, aqua_weights_publisher handle, Use&& use) {
  AQUA_ASSIGN(const auto object, publishers().use(what, handle.id));
  const aqua::MutexLock guard(object->locked->lock);
  if (object->locked->committed) {
    return Error{Code::failed_precondition, aqua::concat(what, ": it is committed")};
  }
  return use(*object->locked);
}

}  // namespace

extern "C" {

aqua_error* aqua_weights_publish(aqua_runtime runtime, const aqua_weights_options* options,
                                 const aqua_weight_spec* tensors, size_t count,
                                 aqua_weights_publisher* publisher) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_weights_publish";
    AQUA_CAPI_NOT_NULL(what, publisher);
    AQUA_CAPI_NOT_NULL(what, tensors);
    AQUA_ASSIGN(const auto used, runtimes().use(what, runtime.id));
    AQUA_ASSIGN(const auto given,
                take_in<aqua_weights_options>("aqua_weights_publish: options", options,
                                              AQUA_WEIGHTS_OPTIONS_INIT));
    AQUA_ASSIGN(const Manifest manifest, manifest_of(what, given, {tensors, count}));
    auto locked = std::make_unique<LockedPublisher>();
    AQUA_ASSIGN(auto begun, aqua::sharing::WeightsPublisher::begin(*used, manifest,
                                                                   string_or_empty(given.keeper)));
    locked->publisher.emplace(std::move(begun));
    count_alive(Kind::weights_publisher, [](std::uint64_t id) { return publishers().count(id); });
    AQUA_ASSIGN(publisher->id,
                publishers().insert(runtime.id, PublisherObject{used.keep(), std::move(locked)}));
    return {};
  });
}

aqua_error* aqua_weights_publisher_write(aqua_weights_publisher publisher, uint64_t number,
                                         uint64_t offset, const void* from, uint64_t bytes) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_weights_publisher_write";
    AQUA_CAPI_NOT_NULL(what, from);
    return use_publisher(what, publisher, [&](LockedPublisher& locked) {
      return locked.publisher->write(number, offset, static_cast<const std::byte*>(from), bytes);
    });
  });
}

aqua_error* aqua_weights_publisher_commit(aqua_weights_publisher publisher) {
  return call([&] {
    constexpr const char* what = "aqua_weights_publisher_commit";
    return use_publisher(what, publisher, [](LockedPublisher& locked) -> Result<void> {
      AQUA_TRY(locked.publisher->commit());
      locked.committed = true;
      return {};
    });
  });
}

aqua_error* aqua_weights_publisher_free(aqua_weights_publisher publisher) {
  return call([&]() -> Result<void> {
    AQUA_ASSIGN(const auto last, publishers().end("aqua_weights_publisher_free", publisher.id));
    return {};
  });
}

}  // extern "C"
