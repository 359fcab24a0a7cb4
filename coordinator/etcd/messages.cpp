// SPDX-License-Identifier: Apache-2.0
#include "coordinator/etcd/messages.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/concat.hpp"
#include "base/shallow_json.hpp"
#include "base/text/plain_name.hpp"
#include "base/try.hpp"
#include "coordinator/etcd/base64.hpp"

namespace aqua::coordinator::etcd {
namespace {

using Json = nlohmann::json;

Error damaged(std::string_view what) {
  return Error{Code::data_loss, concat("etcd: its answer ", what)};
}

std::string text_of(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The first key after all that begin with `prefix`.
std::string end_of(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xff') end.pop_back();
  if (end.empty()) return std::string(1, '\0');  // which etcd takes for "to the end"
  end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

// A 64-bit number, which is a text, of which nothing is said where it is 0.
Result<std::int64_t> number_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return std::int64_t{0};
  if (found->is_number_integer()) return found->get<std::int64_t>();
  std::int64_t number = 0;
  if (found->is_string()) {
    const auto& text = found->get_ref<const std::string&>();
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (!text.empty() && fault == std::errc{} && end == text.data() + text.size()) return number;
  }
  return damaged(concat("has in ", name, " no number"));
}

Result<std::string> bytes_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return std::string();
  if (found->is_string()) {
    if (auto bytes = from_base64(found->get_ref<const std::string&>())) return *std::move(bytes);
  }
  return damaged(concat("has in ", name, " no base64"));
}

Result<Json> object_of(std::string_view body) {
  Json value = parse_shallow(body);
  if (!value.is_object()) return damaged("is no JSON object");
  return value;
}

Result<Json> header_of(const Json& reply) {
  const auto header = reply.find("header");
  if (header == reply.end() || !header->is_object()) return damaged("has no header");
  return *header;
}

Result<Row> row_of(const Json& entry) {
  if (!entry.is_object()) return damaged("has in kvs what is no object");
  Row row;
  AQUA_ASSIGN(row.key, bytes_of(entry, "key"));
  AQUA_ASSIGN(row.value, bytes_of(entry, "value"));
  AQUA_ASSIGN(row.modified, number_of(entry, "mod_revision"));
  return row;
}

// google.rpc.Code, of those that etcd uses.
std::optional<Code> code_of(std::int64_t grpc, std::string_view message) {
  switch (grpc) {
    case 3:  // INVALID_ARGUMENT: also a user or a password that is wrong or missing
      return message.find("user") == std::string_view::npos ? Code::internal
                                                            : Code::permission_denied;
    case 7:   // PERMISSION_DENIED
    case 16:  // UNAUTHENTICATED
      return Code::permission_denied;
    case 4:   // DEADLINE_EXCEEDED
    case 14:  // UNAVAILABLE
      return Code::unavailable;
    case 5:  // NOT_FOUND
      return Code::not_found;
    case 8:  // RESOURCE_EXHAUSTED
      return Code::resource_exhausted;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string range_request(std::string_view prefix) {
  return text_of({{"key", to_base64(prefix)}, {"range_end", to_base64(end_of(prefix))}});
}

std::string watch_request(std::string_view prefix) {
  return text_of(
      {{"create_request", {{"key", to_base64(prefix)}, {"range_end", to_base64(end_of(prefix))}}}});
}

std::string transaction_request(const Transaction& transaction) {
  Json compare = Json::array();
  for (const auto& [key, modified, value] : transaction.when) {
    Json& one = compare.emplace_back(Json{{"key", to_base64(key)}, {"result", "EQUAL"}});
    one["target"] = value.empty() ? "MOD" : "VALUE";
    if (value.empty()) {
      one["mod_revision"] = std::to_string(modified);
    } else {
      one["value"] = to_base64(value);
    }
  }
  Json success = Json::array();
  for (const auto& [key, value, lease] : transaction.puts) {
    success.push_back({{"request_put",
                        {{"key", to_base64(key)},
                         {"value", to_base64(value)},
                         {"lease", std::to_string(lease)}}}});
  }
  for (const std::string& key : transaction.deletes)
    success.push_back({{"request_delete_range", {{"key", to_base64(key)}}}});
  return text_of({{"compare", std::move(compare)}, {"success", std::move(success)}});
}

std::string grant_request(std::int64_t ttl_s) {
  return text_of({{"TTL", std::to_string(ttl_s)}});
}

std::string lease_request(LeaseId lease) {
  return text_of({{"ID", std::to_string(lease)}});
}

std::string password_request(std::string_view user, std::string_view password) {
  return text_of({{"name", user}, {"password", password}});
}

Result<Rows> parse_rows(std::string_view body) {
  AQUA_ASSIGN(const Json reply, object_of(body));
  Rows found;
  AQUA_ASSIGN(const Json header, header_of(reply));
  const auto cluster = header.find("cluster_id");
  if (cluster == header.end() || !cluster->is_string()) return damaged("names no cluster");
  found.cluster = cluster->get<std::string>();
  const auto rows = reply.find("kvs");
  if (rows == reply.end()) return found;
  if (!rows->is_array()) return damaged("has in kvs no array");
  for (const Json& entry : *rows) {
    AQUA_ASSIGN(Row row, row_of(entry));
    found.rows.push_back(std::move(row));
  }
  std::ranges::sort(found.rows, {}, &Row::key);
  return found;
}

Result<Outcome> parse_outcome(std::string_view body) {
  AQUA_ASSIGN(const Json reply, object_of(body));
  Outcome outcome;
  AQUA_ASSIGN(const Json header, header_of(reply));
  AQUA_ASSIGN(outcome.revision, number_of(header, "revision"));
  const auto done = reply.find("succeeded");
  if (done == reply.end()) return outcome;
  if (!done->is_boolean()) return damaged("does not say whether it was done");
  outcome.done = done->get<bool>();
  return outcome;
}

Result<LeaseId> parse_grant(std::string_view body) {
  AQUA_ASSIGN(const Json reply, object_of(body));
  AQUA_ASSIGN(const LeaseId lease, number_of(reply, "ID"));
  if (lease == 0) return damaged("names no lease");
  return lease;
}

Result<std::int64_t> parse_kept(std::string_view body) {
  AQUA_ASSIGN(const Json reply, object_of(body));
  const auto result = reply.find("result");  // one of a stream, of which this is the first
  if (result == reply.end() || !result->is_object()) return damaged("says nothing of the lease");
  return number_of(*result, "TTL");
}

Result<std::string> parse_token(std::string_view body) {
  AQUA_ASSIGN(const Json reply, object_of(body));
  const auto token = reply.find("token");
  if (token == reply.end() || !token->is_string()) return damaged("has no token");
  std::string text = token->get<std::string>();
  if (text.empty() || !is_plain(text)) return damaged("has a token that is no header's value");
  return text;
}

bool is_cancelled_watch(std::string_view line) {
  const Json reply = parse_shallow(line);
  if (!reply.is_object()) return false;
  const auto result = reply.find("result");
  if (result == reply.end() || !result->is_object()) return false;
  const auto cancelled = result->find("canceled");
  return cancelled != result->end() && cancelled->is_boolean() && cancelled->get<bool>();
}

Error parse_refusal(int status, std::string_view body) {
  const Json reply = parse_shallow(body);
  const Json* said = &reply;
  // A stream's refusal is one level down.
  if (said->is_object() && said->contains("error") && said->at("error").is_object())
    said = &said->at("error");
  std::string message;
  std::optional<Code> code;
  if (said->is_object()) {
    for (const char* name : {"message", "error"}) {
      if (message.empty() && said->contains(name) && said->at(name).is_string())
        message = said->at(name).get<std::string>().substr(0, 300);
    }
    for (const char* name : {"code", "grpc_code"}) {
      const auto grpc = number_of(*said, name);
      if (!code && grpc.ok()) code = code_of(*grpc, message);
    }
  }
  if (!is_plain(message)) message.clear();
  if (!code) code = status == 503 || status == 504 ? Code::unavailable : Code::internal;
  return {*code, concat("etcd: ", message.empty() ? concat("status ", status) : message)};
}

}  // namespace aqua::coordinator::etcd
