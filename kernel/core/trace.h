/* SPDX-License-Identifier: GPL-2.0 */
/* verna: trace points of commands and events (events/verna in tracefs). */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM verna

#if !defined(VERNA_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define VERNA_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(verna_cmd_post,
	    TP_PROTO(struct device *dev, u16 opcode, const char *what, u16 id),
	    TP_ARGS(dev, opcode, what, id),
	    TP_STRUCT__entry(__string(dev, dev_name(dev))
			     __string(what, what)
			     __field(u16, opcode)
			     __field(u16, id)),
	    TP_fast_assign(__assign_str(dev);
			   __assign_str(what);
			   __entry->opcode = opcode;
			   __entry->id = id;),
	    TP_printk("%s %s (0x%04x) id=%u", __get_str(dev), __get_str(what),
		      __entry->opcode, __entry->id)
);

TRACE_EVENT(verna_cmd_done,
	    TP_PROTO(struct device *dev, u16 opcode, u16 id, u16 status, u32 detail,
		     u64 result, u64 latency_ns),
	    TP_ARGS(dev, opcode, id, status, detail, result, latency_ns),
	    TP_STRUCT__entry(__string(dev, dev_name(dev))
			     __field(u16, opcode)
			     __field(u16, id)
			     __field(u16, status)
			     __field(u32, detail)
			     __field(u64, result)
			     __field(u64, latency_ns)),
	    TP_fast_assign(__assign_str(dev);
			   __entry->opcode = opcode;
			   __entry->id = id;
			   __entry->status = status;
			   __entry->detail = detail;
			   __entry->result = result;
			   __entry->latency_ns = latency_ns;),
	    TP_printk("%s 0x%04x id=%u status=%u detail=%u result=%llu latency=%lluns",
		      __get_str(dev), __entry->opcode, __entry->id, __entry->status,
		      __entry->detail, __entry->result, __entry->latency_ns)
);

TRACE_EVENT(verna_event,
	    TP_PROTO(struct device *dev, u16 type, u32 id, u64 data),
	    TP_ARGS(dev, type, id, data),
	    TP_STRUCT__entry(__string(dev, dev_name(dev))
			     __field(u16, type)
			     __field(u32, id)
			     __field(u64, data)),
	    TP_fast_assign(__assign_str(dev);
			   __entry->type = type;
			   __entry->id = id;
			   __entry->data = data;),
	    TP_printk("%s type=%u id=%u data=%llu", __get_str(dev), __entry->type,
		      __entry->id, __entry->data)
);

TRACE_EVENT(verna_state,
	    TP_PROTO(struct device *dev, const char *what),
	    TP_ARGS(dev, what),
	    TP_STRUCT__entry(__string(dev, dev_name(dev))
			     __string(what, what)),
	    TP_fast_assign(__assign_str(dev);
			   __assign_str(what);),
	    TP_printk("%s %s", __get_str(dev), __get_str(what))
);

#endif /* VERNA_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
