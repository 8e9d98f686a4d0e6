// SPDX-License-Identifier: GPL-2.0
/* Settings of a NAPI are kept by the number of the NAPI. */
#include <linux/netdevice.h>

void probe(struct net_device *netdev, struct napi_struct *napi)
{
	netif_napi_add_config(netdev, napi, NULL, 0);
}
