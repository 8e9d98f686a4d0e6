// SPDX-License-Identifier: GPL-2.0
/*
 * verna: one NAPI per channel. Interrupts are off by construction: a CQ raises one
 * event per arming, and NAPI arms only when it has found nothing more to do.
 */
#include "eth.h"
#include "verna_compat.h"

/** verna_eth_cq_comp - a CQ has entries @core: CQ */
void verna_eth_cq_comp(struct verna_core_cq *core)
{
	struct verna_eth_cq *cq = container_of(core, struct verna_eth_cq, core);

	WRITE_ONCE(cq->events, cq->events + 1);
	napi_schedule_irqoff(&cq->chan->napi);
}

/*
 * True while the channel may stay on this CPU. One that finds work in every poll sees
 * no interrupt, which would take it to where the administrator wants it. A process or
 * thread that polls is where it is for other reasons.
 */
static bool verna_napi_at_home(struct verna_channel *chan)
{
	return !in_serving_softirq() ||
	       cpumask_test_cpu(smp_processor_id(),
				verna_comp_cpus(chan->eth->vdev, chan->index));
}

/* On the CPU that was chosen, in its interrupt context. */
static void verna_napi_moved(void *data)
{
	struct verna_channel *chan = data;

	napi_schedule_irqoff(&chan->napi);
	/* The last access: verna_napi_stop() waits for it. */
	atomic_dec_return_release(&chan->moves);
}

/* True if another CPU schedules the channel. */
static bool verna_napi_move(struct verna_channel *chan)
{
	u32 cpu = cpumask_any_and_distribute(verna_comp_cpus(chan->eth->vdev, chan->index),
					     cpu_online_mask);
	int err;

	if (cpu >= nr_cpu_ids)
		return false;
	atomic_inc(&chan->moves);
	err = smp_call_function_single_async(cpu, &chan->move);
	if (!err)
		return true;
	atomic_dec(&chan->moves);
	/* One that was under way has yet to schedule it. */
	return err == -EBUSY;
}

/* There is more to do, for a NAPI that is complete. */
static void verna_napi_again(struct verna_channel *chan)
{
	if (likely(verna_napi_at_home(chan)) || !verna_napi_move(chan))
		napi_schedule(&chan->napi);
}

/* Ends a poll on the wrong CPU, which has used its budget. */
static int verna_napi_leave(struct verna_channel *chan, int budget)
{
	struct verna_queue_stats *stats = chan->rx.stats;
	struct napi_struct *napi = &chan->napi;

	verna_stat_inc(&stats->rx_sync, &stats->rx.napi_moved);
	/* If it is complete, but a timer would begin the next poll, that would be here. */
	if (napi_complete_done(napi, budget - 1) ||
	    !test_bit(NAPI_STATE_SCHED, &napi->state))
		verna_napi_again(chan);
	return budget - 1;
}

/* Arms both CQs; true if one of them got entries in the meantime. */
static bool verna_napi_arm(struct verna_channel *chan)
{
	struct verna_eth_cq *tx = &chan->tx.cq;
	struct verna_eth_cq *rx = &chan->rx.cq;

	verna_cq_arm(tx->rec, &tx->sn, VERNA_ARM_NEXT);
	verna_cq_arm(rx->rec, &rx->sn, VERNA_ARM_NEXT);
	return verna_eth_cq_peek(tx) || verna_eth_cq_peek(rx);
}

static void verna_napi_dim(struct verna_channel *chan)
{
	const struct verna_queue_stats *stats = &chan->eth->stats[chan->index];

	verna_dim_update(&chan->rx.cq, stats->rx.packets, stats->rx.bytes);
	verna_dim_update(&chan->tx.cq, stats->done.packets, stats->done.bytes);
}

/** verna_channel_broken - a completion made no sense @chan: channel @kind: whose */
void verna_channel_broken(struct verna_channel *chan, enum verna_queue_kind kind)
{
	if (!chan->broken)
		verna_health_queue_error(chan->eth->vdev, kind, "bad completion",
					 chan->index, true);
	chan->broken = true;
}

static void verna_napi_refill(struct verna_channel *chan)
{
	struct verna_rxq *rxq = &chan->rx;

	if (likely(verna_rx_refill(rxq, VERNA_RX_REFILL_BATCH))) {
		rxq->starved = 0;
		return;
	}
	mod_timer(&chan->refill_timer, jiffies + msecs_to_jiffies(10));
	/* New queues would find no memory either. */
	if (++rxq->starved == VERNA_RX_STARVED)
		verna_health_queue_error(chan->eth->vdev, VERNA_QUEUE_RX,
					 "no memory for buffers", chan->index, false);
}

static int verna_napi_poll(struct napi_struct *napi, int budget)
{
	struct verna_channel *chan = container_of(napi, struct verna_channel, napi);
	int done = 0;

	/* netpoll wants transmission alone, with interrupts off, where no frame of XDP may
	 * be given back.
	 */
	if (unlikely(!budget)) {
		if (!READ_ONCE(chan->tx.xdp_used))
			verna_tx_poll(&chan->tx, 0);
		return 0;
	}
	verna_tx_poll(&chan->tx, budget);
	done = verna_rx_poll(&chan->rx, budget);
	verna_xdp_poll_end(chan);
	verna_napi_refill(chan);
	/* Unarmed, so that nothing comes any more; the reporter restarts it. */
	if (unlikely(chan->broken)) {
		napi_complete_done(napi, min(done, budget - 1));
		return min(done, budget - 1);
	}
	if (done == budget)
		return likely(verna_napi_at_home(chan)) ? budget :
		       verna_napi_leave(chan, budget);
	if (!napi_complete_done(napi, done))
		return done;
	if (verna_napi_arm(chan))
		verna_napi_again(chan);
	else
		verna_napi_dim(chan);
	return done;
}

static void verna_refill_timer(struct timer_list *timer)
{
	struct verna_channel *chan = timer_container_of(chan, timer, refill_timer);

	napi_schedule(&chan->napi);
}

/** verna_napi_add - set up the NAPI of a channel @chan: channel */
void verna_napi_add(struct verna_channel *chan)
{
	timer_setup(&chan->refill_timer, verna_refill_timer, 0);
	INIT_CSD(&chan->move, verna_napi_moved, chan);
#ifdef VERNA_HAVE_NETIF_NAPI_ADD_CONFIG
	netif_napi_add_config(chan->eth->netdev, &chan->napi, verna_napi_poll, chan->index);
#else
	netif_napi_add(chan->eth->netdev, &chan->napi, verna_napi_poll);
#endif
}

/** verna_napi_start - let a channel run, whose queues exist @chan: channel */
void verna_napi_start(struct verna_channel *chan)
{
	struct net_device *netdev = chan->eth->netdev;

	netif_napi_set_irq(&chan->napi, verna_comp_irq(chan->eth->vdev, chan->index));
	napi_enable(&chan->napi);
	netif_queue_set_napi(netdev, chan->index, NETDEV_QUEUE_TYPE_TX, &chan->napi);
	netif_queue_set_napi(netdev, chan->index, NETDEV_QUEUE_TYPE_RX, &chan->napi);
	/* The first poll finds nothing and arms. */
	local_bh_disable();
	napi_schedule(&chan->napi);
	local_bh_enable();
}

/**
 * verna_napi_stop - wait until channels stand still
 * @chans: channels; nothing comes any more that could schedule them
 */
void verna_napi_stop(struct verna_channels *chans)
{
	struct net_device *netdev = chans->chan[0]->eth->netdev;
	struct verna_channel *chan;
	u32 i;

	for (i = 0; i < chans->num; i++) {
		netif_queue_set_napi(netdev, i, NETDEV_QUEUE_TYPE_TX, NULL);
		netif_queue_set_napi(netdev, i, NETDEV_QUEUE_TYPE_RX, NULL);
		napi_disable(&chans->chan[i]->napi);
	}
	/* A poll that is complete may yet arm, or move. */
	synchronize_net();
	for (i = 0; i < chans->num; i++) {
		chan = chans->chan[i];
		while (atomic_read_acquire(&chan->moves))
			usleep_range(10, 100);
		timer_delete_sync(&chan->refill_timer);
	}
}
