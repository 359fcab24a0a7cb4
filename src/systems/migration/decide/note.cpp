// SPDX-License-Identifier: Apache-2.0
#include "aqua/migration/note.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>

#include "base/concat.hpp"
#include "base/try.hpp"

// The bytes are in docs/engine/migration.md. Words are little-endian, whatever the machine is.
namespace aqua::migration {
namespace {

constexpr std::string_view kMagic = "AQMN";
constexpr std::uint8_t kVersion = 1;

class Writer {
 public:
  template <std::unsigned_integral Word>
  void word(Word value) {
    for (std::size_t i = 0; i < sizeof(Word); ++i) {
      bytes_ += static_cast<char>(static_cast<std::uint8_t>(value >> (8 * i)));
    }
  }
  void number(float value) { word(std::bit_cast<std::uint32_t>(value)); }
  void number(double value) { word(std::bit_cast<std::uint64_t>(value)); }
  void raw(std::string_view text) { bytes_ += text; }
  void text(std::string_view text) {
    word(static_cast<std::uint16_t>(text.size()));
    raw(text);
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads zeros behind the end, and remembers that it did.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <std::unsigned_integral Word>
  void word(Word& value) {
    const std::string_view from = raw(sizeof(Word));
    value = 0;
    for (std::size_t i = 0; i < from.size(); ++i) {
      value = static_cast<Word>(value | Word{static_cast<std::uint8_t>(from[i])} << (8 * i));
    }
  }
  void number(float& value) {
    std::uint32_t bits = 0;
    word(bits);
    value = std::bit_cast<float>(bits);
  }
  void number(double& value) {
    std::uint64_t bits = 0;
    word(bits);
    value = std::bit_cast<double>(bits);
  }
  [[nodiscard]] std::string_view raw(std::size_t count) {
    if (count > bytes_.size()) {
      short_ = true;
      return {};
    }
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  void text(std::string& value) {
    std::uint16_t size = 0;
    word(size);
    value = raw(size);
  }
  [[nodiscard]] bool cut_short() const noexcept { return short_; }
  [[nodiscard]] std::size_t left() const noexcept { return bytes_.size(); }

 private:
  std::string_view bytes_;
  bool short_ = false;
};

// The fixed part and the texts, in their order, for both directions.
template <typename Note, typename Bytes>
void fields(Note& note, Bytes& bytes) {
  bytes.word(note.turn);
  bytes.word(note.prompt_tokens);
  bytes.word(note.generated_tokens);
  bytes.word(note.kv_tokens);
  bytes.word(note.max_new_tokens);
  bytes.word(note.pending_token);
  bytes.word(note.sampler.seed);
  bytes.number(note.sampler.temperature);
  bytes.number(note.sampler.top_p);
  bytes.number(note.sampler.min_p);
  bytes.word(note.sampler.top_k);
  bytes.number(note.sampler.repetition_penalty);
  bytes.number(note.sampler.frequency_penalty);
  bytes.number(note.sampler.presence_penalty);
  bytes.word(note.tenant);
  bytes.number(note.weight);
  bytes.number(note.lead);
  bytes.text(note.model);
  bytes.text(note.engine_state);
}

constexpr std::size_t kAround = 6 + 88 + 2 + 2;  // all but the texts

}  // namespace

Result<void> check(const MigrationNote& note) {
  const auto wrong = [](const auto&... what) {
    return Error{Code::invalid_argument, concat("note: ", what...)};
  };
  if (note.kind != Kind::kv && note.kind != Kind::tokens) return wrong("kind is none");
  if (note.turn == 0) return wrong("turn is 0");
  if (note.prompt_tokens == 0) return wrong("prompt_tokens is 0");
  if (note.generated_tokens == 0) return wrong("generated_tokens is 0");
  const std::uint64_t known = std::uint64_t{note.prompt_tokens} + note.generated_tokens;
  if (known > UINT32_MAX) return wrong("more than 2^32 tokens");
  if (note.kv_tokens >= known) return wrong("kv_tokens ", note.kv_tokens, " of ", known);
  const Sampler& sampler = note.sampler;
  const std::pair<const char*, double> numbers[] = {
      {"temperature", sampler.temperature},
      {"top_p", sampler.top_p},
      {"min_p", sampler.min_p},
      {"repetition_penalty", sampler.repetition_penalty},
      {"frequency_penalty", sampler.frequency_penalty},
      {"presence_penalty", sampler.presence_penalty},
      {"weight", note.weight},
      {"lead", note.lead}};
  for (const auto& [name, value] : numbers) {
    if (!std::isfinite(value)) return wrong(name, " is ", value);
  }
  if (note.model.empty() || note.model.size() > kMostModelBytes) {
    return wrong("model has ", note.model.size(), " bytes, not 1 to ", kMostModelBytes);
  }
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (!std::ranges::all_of(note.model, printable)) return wrong("model is not of printable ASCII");
  const std::size_t bytes = kAround + note.model.size() + note.engine_state.size();
  if (bytes > kMostNoteBytes) return wrong(bytes, " bytes, more than ", kMostNoteBytes);
  return {};
}

Result<std::string> encode(const MigrationNote& note) {
  AQUA_TRY(check(note));
  Writer writer;
  writer.raw(kMagic);
  writer.word(kVersion);
  writer.word(static_cast<std::uint8_t>(note.kind));
  fields(note, writer);
  return writer.take();
}

Result<MigrationNote> decode(std::string_view bytes, std::string_view model) {
  const auto wrong = [](const auto&... what) {
    return Error{Code::invalid_argument, concat("note: ", what...)};
  };
  if (bytes.size() > kMostNoteBytes) {
    return wrong(bytes.size(), " bytes, more than ", kMostNoteBytes);
  }
  Reader reader(bytes);
  if (reader.raw(kMagic.size()) != kMagic) return wrong("does not begin with ", kMagic);
  std::uint8_t version = 0, kind = 0;
  reader.word(version);
  if (!reader.cut_short() && version != kVersion) {
    return Error{Code::unimplemented,
                 concat("note: version ", +version, "; this library reads ", +kVersion)};
  }
  reader.word(kind);
  MigrationNote note;
  note.kind = static_cast<Kind>(kind);
  fields(note, reader);
  if (reader.cut_short()) return wrong("is cut short after ", bytes.size(), " bytes");
  if (reader.left() > 0) return wrong(reader.left(), " bytes behind its end");
  AQUA_TRY(check(note));
  if (note.model != model) {
    return Error{Code::failed_precondition,
                 concat("note: of model '", note.model, "', here is '", model, "'")};
  }
  return note;
}

}  // namespace aqua::migration
