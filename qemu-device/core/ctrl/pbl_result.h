// SPDX-License-Identifier: GPL-2.0-or-later
// How a command ends whose page list could not be loaded.
#pragma once

#include "ctrl/command.h"
#include "queue/queue_memory.h"

namespace verna {

/// `field` is the offset of the struct verna_pbl in the command.
inline CommandResult pbl_result(PblStatus status, uint32_t field) {
  switch (status) {
    case PblStatus::kOk:
      return CommandResult::ok();
    case PblStatus::kBadParam:
      return CommandResult::fail(VERNA_CMD_BAD_PARAM, field);
    case PblStatus::kNoResource:
      return CommandResult::fail(VERNA_CMD_NO_RESOURCE);
    case PblStatus::kDmaFault:
      return CommandResult::fail(VERNA_CMD_DMA_FAULT, field);
  }
  return CommandResult::fail(VERNA_CMD_BAD_PARAM, field);
}

}  // namespace verna
