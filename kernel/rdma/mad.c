// SPDX-License-Identifier: GPL-2.0
/*
 * verna_ib: performance management (IBA volume 1, chapter 16.1). The card has no
 * agent; the driver answers Get(PortCounters) and its extended form, from which
 * the core makes /sys/class/infiniband/DEV/ports/1/counters.
 *
 * As for other RoCE devices the figures are those of RDMA, not of the netdev on
 * the same wire.
 */
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>

#include "ib.h"

#define VIB_PMA_ALL_PORTS	0xff

/* Data counters count 32-bit words (IBA 16.1.3.5). */
#define VIB_PMA_WORD	4

struct vib_pma_values {
	u64 rdma[VERNA_RDMA_NUM_COUNTERS];
	u64 port[VERNA_PORT_NUM_COUNTERS];
};

static int vib_pma_read(struct vib_dev *dev, struct vib_pma_values *v)
{
	int err;

	err = verna_query_counters(dev->core, VERNA_COUNTERS_RDMA, 0, v->rdma,
				   VERNA_RDMA_NUM_COUNTERS);
	if (err)
		return err;
	return verna_query_counters(dev->core, VERNA_COUNTERS_PORT, 0, v->port,
				    VERNA_PORT_NUM_COUNTERS);
}

/* Packets that came damaged or made no sense: PortRcvErrors. */
static u64 vib_pma_rcv_errors(const struct vib_pma_values *v)
{
	return v->rdma[VERNA_RDMA_rx_drop_icrc] +
	       v->rdma[VERNA_RDMA_rx_drop_malformed] +
	       v->rdma[VERNA_RDMA_rx_drop_version] +
	       v->rdma[VERNA_RDMA_rx_drop_opcode];
}

static void vib_pma_class_port_info(struct ib_pma_mad *out)
{
	struct ib_class_port_info *info = (void *)out->data;

	info->base_version = IB_MGMT_BASE_VERSION;
	info->class_version = 1;
	info->capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH;
}

/* Counters of the old form stick at their maximum (IBA 16.1.3.5). */
static void vib_pma_counters(const struct vib_pma_values *v,
			     struct ib_pma_mad *out)
{
	struct ib_pma_portcounters *p = (void *)out->data;
	const u64 *r = v->rdma;

	p->port_select = VIB_PORT;
	p->link_downed_counter =
		min_t(u64, v->port[VERNA_PORT_link_down_events], U8_MAX);
	p->port_rcv_errors = cpu_to_be16(min_t(u64, vib_pma_rcv_errors(v),
					       U16_MAX));
	p->port_xmit_discards =
		cpu_to_be16(min_t(u64, v->port[VERNA_PORT_tx_drop_link_down],
				  U16_MAX));
	p->port_xmit_data =
		cpu_to_be32(min_t(u64, r[VERNA_RDMA_tx_bytes] / VIB_PMA_WORD,
				  U32_MAX));
	p->port_rcv_data =
		cpu_to_be32(min_t(u64, r[VERNA_RDMA_rx_bytes] / VIB_PMA_WORD,
				  U32_MAX));
	p->port_xmit_packets =
		cpu_to_be32(min_t(u64, r[VERNA_RDMA_tx_packets], U32_MAX));
	p->port_rcv_packets =
		cpu_to_be32(min_t(u64, r[VERNA_RDMA_rx_packets], U32_MAX));
}

/* There is no multicast, so every packet is unicast. */
static void vib_pma_counters_ext(const struct vib_pma_values *v,
				 struct ib_pma_mad *out)
{
	struct ib_pma_portcounters_ext *p = (void *)out->data;
	const u64 *r = v->rdma;

	p->port_select = VIB_PORT;
	p->port_xmit_data = cpu_to_be64(r[VERNA_RDMA_tx_bytes] / VIB_PMA_WORD);
	p->port_rcv_data = cpu_to_be64(r[VERNA_RDMA_rx_bytes] / VIB_PMA_WORD);
	p->port_xmit_packets = cpu_to_be64(r[VERNA_RDMA_tx_packets]);
	p->port_rcv_packets = cpu_to_be64(r[VERNA_RDMA_rx_packets]);
	p->port_unicast_xmit_packets = p->port_xmit_packets;
	p->port_unicast_rcv_packets = p->port_rcv_packets;
}

/* Returns the status of the answer (IBA 13.4.7) or a negative error. */
static int vib_pma_get(struct vib_dev *dev, const struct ib_pma_mad *in,
		       struct ib_pma_mad *out)
{
	__be16 attr = in->mad_hdr.attr_id;
	struct vib_pma_values *v;
	u8 port = in->data[1];	/* PortSelect of both forms */
	int err;

	if (attr == IB_PMA_CLASS_PORT_INFO) {
		vib_pma_class_port_info(out);
		return 0;
	}
	if (attr != IB_PMA_PORT_COUNTERS && attr != IB_PMA_PORT_COUNTERS_EXT)
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	if (port != VIB_PORT && port != VIB_PMA_ALL_PORTS)
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;

	v = kzalloc(sizeof(*v), GFP_KERNEL);
	if (!v)
		return -ENOMEM;
	err = vib_pma_read(dev, v);
	if (!err && attr == IB_PMA_PORT_COUNTERS)
		vib_pma_counters(v, out);
	else if (!err)
		vib_pma_counters_ext(v, out);
	kfree(v);
	return err;
}

/**
 * vib_process_mad() - ib_device_ops.process_mad
 * @ibdev: device
 * @flags: not used: there is no M_Key
 * @port: 1
 * @in_wc: completion of the packet, NULL if it comes from this host
 * @in_grh: its GRH
 * @in: management datagram
 * @out: answer
 * @out_size: its size
 * @out_pkey_index: not used
 *
 * May sleep. Return: IB_MAD_RESULT_*; of classes that are not ours (CM above
 * all) only IB_MAD_RESULT_SUCCESS, so that the core goes on with them.
 */
int vib_process_mad(struct ib_device *ibdev, int flags, u32 port,
		    const struct ib_wc *in_wc, const struct ib_grh *in_grh,
		    const struct ib_mad *in, struct ib_mad *out,
		    size_t *out_size, u16 *out_pkey_index)
{
	const struct ib_mad_hdr *hdr = &in->mad_hdr;
	int status;

	if (hdr->mgmt_class != IB_MGMT_CLASS_PERF_MGMT)
		return IB_MAD_RESULT_SUCCESS;
	/* Answers of others go to whoever asked. */
	if (ib_response_mad(hdr))
		return IB_MAD_RESULT_SUCCESS;

	memset(out, 0, sizeof(*out));
	out->mad_hdr = *hdr;
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	if (hdr->class_version != 1)
		status = IB_MGMT_MAD_STATUS_BAD_VERSION;
	else if (hdr->method != IB_MGMT_METHOD_GET)
		status = IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD;
	else
		status = vib_pma_get(to_vib_dev(ibdev),
				     (const struct ib_pma_mad *)in,
				     (struct ib_pma_mad *)out);
	if (status < 0)
		return IB_MAD_RESULT_FAILURE;

	out->mad_hdr.status = cpu_to_be16(status);
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}
