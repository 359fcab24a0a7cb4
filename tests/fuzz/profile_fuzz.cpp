// SPDX-License-Identifier: Apache-2.0
// Any bytes as what an engine sends to the profiler, or as a profile: never a crash, and what is
// accepted keeps its promises.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tools/http/engine_answer.hpp"
#include "tools/http/http_client.hpp"
#include "tools/http/sse.hpp"
#include "tools/profiler/load/completion.hpp"
#include "tools/profiler/memory/memory_reading.hpp"
#include "tools/profiler/search/record.hpp"

namespace {

using namespace aqua::profiler;
using namespace aqua::http;

void require(bool good) {
  if (!good) std::abort();
}

void check_reading(const aqua::Result<MemoryReading>& reading) {
  if (!reading.ok()) return;
  require(reading->used_bytes >= 0 && reading->used_bytes <= reading->total_bytes);
}

// Cut anywhere, a stream is the same.
std::string events_of(const std::string& text, std::size_t cut) {
  std::string all;
  SseReader reader;
  const auto keep = [&](std::string_view data) { all.append(data).push_back('\0'); };
  const bool first = reader.feed(text.substr(0, cut), keep).ok();
  if (first) (void)reader.feed(text.substr(cut), keep);
  return all;
}

// Read, written and read again it is the same; a runtime reads what the profiler does.
void check_record(const std::string& text) {
  const auto record = parse_record(text);
  if (!record.ok()) {
    require(record.error().code == aqua::Code::invalid_argument);
    return;
  }
  const auto profile = aqua::parse_profile(text);
  require(profile.ok() && *profile == record->profile);
  require(profile->free_bytes <= profile->kv_bytes);
  const std::string written = render_record(*record);
  const auto again = parse_record(written);
  require(again.ok() && render_record(*again) == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const MemoryOptions sized{
      .kv_bytes = 1e9, .bytes_per_token = 100, .used_metric = "used", .total_metric = "total"};
  switch (data[0] % 6) {
    case 0:
      require(events_of(text, data[1] % (text.size() + 1)) == events_of(text, text.size()));
      break;
    case 1:
      (void)parse_event(text);
      (void)error_text(text);
      (void)parse_models(text);
      break;
    case 2:
      check_reading(read_vllm(text, sized));
      check_reading(read_vllm(text, {.bytes_per_token = 100}));
      check_reading(read_prometheus(text, sized));
      break;
    case 3: {
      const std::size_t half = text.find('\n');
      check_reading(
          read_llama(text.substr(0, half), half < text.size() ? text.substr(half + 1) : "", sized));
      break;
    }
    case 4:
      (void)parse_url(text);
      break;
    default:
      check_record(text);
  }
  return 0;
}
