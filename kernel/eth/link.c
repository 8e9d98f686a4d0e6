// SPDX-License-Identifier: GPL-2.0
/* verna: link state and other events of the interface. */
#include "eth.h"

/**
 * verna_link_work - ask the port for its state
 * @work: link_work of an interface
 *
 * An event tells that something changed; the answer to the command tells what is,
 * so that events that overtake each other do no harm.
 */
void verna_link_work(struct work_struct *work)
{
	struct verna_eth *eth = container_of(work, struct verna_eth, link_work);
	struct verna_port_state state;
	bool up;

	if (verna_cmd_query(eth->vdev, VERNA_CMD_QUERY_PORT, 0, 0, &state,
			    sizeof(state)) < 0)
		return;
	up = state.link == cpu_to_le32(1) || READ_ONCE(eth->loopback);
	WRITE_ONCE(eth->speed, le32_to_cpu(state.speed));
	if (up == netif_carrier_ok(eth->netdev))
		return;
	netdev_info(eth->netdev, "link is %s\n", up ? "up" : "down");
	if (up)
		netif_carrier_on(eth->netdev);
	else
		netif_carrier_off(eth->netdev);
}

/** verna_eth_event - an event of the card; any context @handler: ours @event: what */
void verna_eth_event(struct verna_event_handler *handler,
		     const struct verna_event *event)
{
	struct verna_eth *eth = container_of(handler, struct verna_eth, handler);

	switch (event->type) {
	case VERNA_EVENT_LINK:
		queue_work(eth->wq, &eth->link_work);
		break;
	case VERNA_EVENT_TXQ_ERROR:
		verna_health_queue_error(eth->vdev, VERNA_QUEUE_TX, "stopped by the card",
					 event->id, true);
		break;
	case VERNA_EVENT_RXQ_ERROR:
		verna_health_queue_error(eth->vdev, VERNA_QUEUE_RX, "stopped by the card",
					 event->id, true);
		break;
	}
}
