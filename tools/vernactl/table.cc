// SPDX-License-Identifier: GPL-2.0-or-later
#include "table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace vernactl {

namespace {

using Row = std::vector<std::string>;

struct Table {
  Row head;
  std::vector<Row> rows;
  std::vector<bool> numeric;  // these columns are aligned to the right
};

std::string cell(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_null()) return "-";
  return value.dump();
}

bool is_flat(const Json& value) { return !value.is_object() && !value.is_array(); }

/// Members of an object within a row get columns of their own: {"sq": {"size": 1}} is sq.size.
Json flatten(const Json& row) {
  Json flat = Json::object();
  for (const auto& [key, value] : row.items()) {
    if (!value.is_object()) {
      flat[key] = value;
      continue;
    }
    for (const auto& [inner, element] : value.items()) flat[key + "." + inner] = element;
  }
  return flat;
}

Table from_rows(const Json& nested) {
  Json array = Json::array();
  for (const Json& row : nested) array.push_back(flatten(row));
  Table table;
  for (const Json& row : array)
    for (const auto& [key, value] : row.items())
      if (std::find(table.head.begin(), table.head.end(), key) == table.head.end()) {
        table.head.push_back(key);
        table.numeric.push_back(value.is_number());
      }
  for (const Json& row : array) {
    Row cells;
    for (const std::string& key : table.head)
      cells.push_back(row.contains(key) ? cell(row[key]) : "-");
    table.rows.push_back(cells);
  }
  return table;
}

Table from_values(const Json& object) {
  Table table{{}, {}, {false, true}};
  for (const auto& [key, value] : object.items())
    if (is_flat(value)) table.rows.push_back({key, cell(value)});
  return table;
}

std::vector<size_t> widths(const Table& table) {
  std::vector<size_t> width(table.numeric.size(), 0);
  const auto widen = [&](const Row& row) {
    for (size_t i = 0; i < row.size(); i++) width[i] = std::max(width[i], row[i].size());
  };
  widen(table.head);
  for (const Row& row : table.rows) widen(row);
  return width;
}

std::string print(const Table& table) {
  const std::vector<size_t> width = widths(table);
  std::string out;
  const auto line = [&](const Row& row) {
    std::string text;
    for (size_t i = 0; i < row.size(); i++) {
      if (i) text += "  ";
      text += table.numeric[i] ? fmt::format("{:>{}}", row[i], width[i])
                               : fmt::format("{:<{}}", row[i], width[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  if (!table.head.empty()) line(table.head);
  for (const Row& row : table.rows) line(row);
  return out;
}

// One value of an answer, under its name.
std::string section(const std::string& name, const Json& value) {
  if (value.is_array() && value.empty()) return fmt::format("{}: none\n", name);
  const bool rows = value.is_array() && value.front().is_object();
  if (value.is_array() && !rows) return fmt::format("{}: {}\n", name, value.dump());
  return fmt::format("{}:\n{}", name, rows ? print(from_rows(value)) : print(from_values(value)));
}

}  // namespace

std::string format_tables(const Json& answer) {
  if (answer.is_array()) return print(from_rows(answer));
  if (!answer.is_object()) return cell(answer) + "\n";
  std::string out = print(from_values(answer));
  for (const auto& [key, value] : answer.items()) {
    if (is_flat(value)) continue;
    if (!out.empty()) out += "\n";
    out += section(key, value);
  }
  return out;
}

void drop_zeros(Json& value) {
  if (value.is_array())
    for (Json& element : value) drop_zeros(element);
  if (!value.is_object()) return;
  for (auto it = value.begin(); it != value.end();) {
    drop_zeros(*it);
    const bool zero = it->is_number() && *it == 0;
    const bool hollow = it->is_object() && it->empty();
    if (zero || hollow)
      it = value.erase(it);
    else
      ++it;
  }
}

std::string format_trace(const Json& records) {
  std::string out;
  for (const Json& r : records) {
    const uint64_t time = r.value("time", uint64_t{0});
    out += fmt::format("{:>10} {:>6}.{:09} packet {:<8} {:<13} a={:#x} b={:#x}\n",
                       r.value("number", uint64_t{0}), time / 1'000'000'000, time % 1'000'000'000,
                       r.value("packet", uint64_t{0}), r.value("stage", std::string("?")),
                       r.value("a", uint64_t{0}), r.value("b", uint64_t{0}));
  }
  return out;
}

}  // namespace vernactl
