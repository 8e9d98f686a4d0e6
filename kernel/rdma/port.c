// SPDX-License-Identifier: GPL-2.0
/*
 * verna_ib: the port. It is active exactly while its netdev can send.
 */
#include <linux/netdevice.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_mad.h>

#include "ib.h"

static bool vib_netdev_active(const struct net_device *netdev)
{
	return netif_running(netdev) && netif_carrier_ok(netdev);
}

/**
 * vib_query_port() - ib_device_ops.query_port
 * @ibdev: device
 * @port: 1
 * @attr: to be filled, zeroed by the caller
 *
 * Return: 0 or -ENODEV.
 */
int vib_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr)
{
	struct vib_dev *dev = to_vib_dev(ibdev);
	const struct verna_caps *caps = dev->caps;
	int err;

	err = ib_get_eth_speed(ibdev, port, &attr->active_speed,
			       &attr->active_width);
	if (err)
		return err;

	if (vib_netdev_active(dev->netdev)) {
		attr->state = IB_PORT_ACTIVE;
		attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	} else {
		attr->state = IB_PORT_DOWN;
		attr->phys_state = IB_PORT_PHYS_STATE_DISABLED;
	}

	attr->max_mtu = ib_mtu_int_to_enum(caps->rdma.max_mtu);
	attr->active_mtu = min(iboe_get_mtu(READ_ONCE(dev->netdev->mtu)),
			       attr->max_mtu);
	attr->phys_mtu = READ_ONCE(dev->netdev->mtu);
	attr->gid_tbl_len = caps->rdma.max_gids;
	attr->pkey_tbl_len = VIB_PKEY_TABLE_LEN;
	attr->ip_gids = true;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->max_msg_sz = min_t(u64, caps->rdma.max_msg, U32_MAX);
	attr->max_vl_num = 1;
	return 0;
}

/**
 * vib_get_port_immutable() - ib_device_ops.get_port_immutable
 * @ibdev: device
 * @port: 1
 * @imm: to be filled
 *
 * Return: 0.
 */
int vib_get_port_immutable(struct ib_device *ibdev, u32 port,
			   struct ib_port_immutable *imm)
{
	imm->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	imm->max_mad_size = IB_MGMT_MAD_SIZE;
	imm->gid_tbl_len = to_vib_dev(ibdev)->caps->rdma.max_gids;
	imm->pkey_tbl_len = VIB_PKEY_TABLE_LEN;
	return 0;
}

/** vib_get_link_layer() - ib_device_ops.get_link_layer */
enum rdma_link_layer vib_get_link_layer(struct ib_device *ibdev, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

/**
 * vib_query_pkey() - ib_device_ops.query_pkey
 * @ibdev: device
 * @port: 1
 * @index: 0
 * @pkey: result
 *
 * RoCE has the default P_Key only. Return: 0 or -EINVAL.
 */
int vib_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	if (index >= VIB_PKEY_TABLE_LEN)
		return -EINVAL;
	*pkey = IB_DEFAULT_PKEY_FULL;
	return 0;
}

static void vib_port_event(struct vib_dev *dev, enum ib_event_type type)
{
	struct ib_event event = {
		.device = &dev->ibdev,
		.element.port_num = VIB_PORT,
		.event = type,
	};

	ib_dispatch_event(&event);
}

static int vib_netdev_event(struct notifier_block *nb, unsigned long event,
			    void *info)
{
	struct vib_dev *dev = container_of(nb, struct vib_dev, netdev_nb);
	bool active;

	if (netdev_notifier_info_to_dev(info) != dev->netdev)
		return NOTIFY_DONE;

	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		active = vib_netdev_active(dev->netdev);
		if (active == dev->port_active)
			break;
		dev->port_active = active;
		vib_port_event(dev, active ? IB_EVENT_PORT_ACTIVE :
					     IB_EVENT_PORT_ERR);
		break;
	default:
		break;
	}
	return NOTIFY_DONE;
}

/**
 * vib_port_watch() - announce changes of the port's state from now on
 * @dev: device, registered
 *
 * Registration replays NETDEV_UP, which announces a port that is active now.
 * Return: 0 or an error of register_netdevice_notifier().
 */
int vib_port_watch(struct vib_dev *dev)
{
	dev->netdev_nb.notifier_call = vib_netdev_event;
	return register_netdevice_notifier(&dev->netdev_nb);
}

/**
 * vib_port_unwatch() - the opposite
 * @dev: device, still registered
 */
void vib_port_unwatch(struct vib_dev *dev)
{
	unregister_netdevice_notifier(&dev->netdev_nb);
}
