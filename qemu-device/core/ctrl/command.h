// SPDX-License-Identifier: GPL-2.0-or-later
// What every admin command handler takes and returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hw/verna_cmd.h"

namespace verna {

/// One command, copied from the host once.
struct CommandBytes {
  alignas(8) uint8_t bytes[VERNA_CMD_SIZE];

  template <typename T>
  T as() const {
    static_assert(sizeof(T) <= VERNA_CMD_SIZE);
    T v;
    std::memcpy(&v, bytes, sizeof v);
    return v;
  }
};

struct CommandResult {
  verna_cmd_status status = VERNA_CMD_OK;
  uint32_t detail = 0;
  uint64_t result = 0;

  static CommandResult ok(uint64_t result = 0) { return {VERNA_CMD_OK, 0, result}; }
  static CommandResult fail(verna_cmd_status status, uint32_t detail = 0) {
    return {status, detail, 0};
  }
};

/// The result for a field that is out of range: names its offset in the command.
#define VERNA_BAD_FIELD(type, field) \
  ::verna::CommandResult::fail(VERNA_CMD_BAD_PARAM, offsetof(type, field))

}  // namespace verna
