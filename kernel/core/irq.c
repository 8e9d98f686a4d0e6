// SPDX-License-Identifier: GPL-2.0
/*
 * verna: MSI-X vectors.
 *
 * Vector 0 serves the admin queue and EQ 0; each further vector serves one EQ for
 * completions. With a single vector EQ 0 takes the completions as well. What an
 * EQ has in one go is handled in the hard handler; only if entries keep coming
 * does the handler's thread go on, so that no interrupt context is held for long.
 */
#include <linux/irq.h>

#include "core.h"

static irqreturn_t verna_irq_handle(int irq, void *data)
{
	struct verna_irq *vec = data;
	struct verna_eq *eq;

	WRITE_ONCE(vec->count, vec->count + 1);
	if (!vec->vector)
		verna_cmdq_poll(vec->vdev);
	/* Pairs with the release in verna_eqs_create(). */
	eq = smp_load_acquire(&vec->eq);
	if (eq && !verna_eq_process(eq))
		return IRQ_WAKE_THREAD;
	return IRQ_HANDLED;
}

static irqreturn_t verna_irq_thread(int irq, void *data)
{
	struct verna_irq *vec = data;
	struct verna_eq *eq = READ_ONCE(vec->eq);
	bool idle = !eq;

	while (!idle) {
		/* Lets NAPIs that were scheduled run, as the end of an interrupt does. */
		local_bh_disable();
		idle = verna_eq_process(eq);
		local_bh_enable();
		cond_resched();
	}
	return IRQ_HANDLED;
}

/*
 * A CPU has some 200 interrupt vectors for all devices, and the interrupt core
 * refuses rather than give fewer: what one card may have grows with the CPUs.
 */
#define VERNA_VECTORS_PER_CPU	32

static u32 verna_irqs_wanted(struct verna_dev *vdev)
{
	u32 fair = 1 + VERNA_VECTORS_PER_CPU * num_online_cpus();
	u32 have = min(verna_reg_read(vdev, VERNA_REG_NUM_VECTORS),
		       vdev->caps.dev.max_eqs);

	return clamp(have, 1, fair);
}

static int verna_vectors_alloc(struct verna_dev *vdev, u32 wanted)
{
	int num = pci_alloc_irq_vectors(vdev->pdev, 1, wanted, PCI_IRQ_MSIX);

	while (num == -ENOSPC && wanted > 1) {
		wanted /= 2;
		num = pci_alloc_irq_vectors(vdev->pdev, 1, wanted, PCI_IRQ_MSIX);
	}
	return num;
}

/*
 * Interrupts go away with a reset, the CPUs that the administrator chose stay. The
 * interrupt itself moves with the next one only, so its mask says less.
 */
static void verna_irq_moved(struct irq_affinity_notify *notify, const cpumask_t *mask)
{
	struct verna_irq *vec = container_of(notify, struct verna_irq, notify);

	if (vec->vector < vec->vdev->num_affinities)
		cpumask_copy(&vec->vdev->affinities[vec->vector], mask);
}

/* CPUs that the administrator chose, or those of the hint. */
static const struct cpumask *verna_irq_cpus(const struct verna_irq *vec)
{
	const struct verna_dev *vdev = vec->vdev;

	if (vec->vector < vdev->num_affinities &&
	    !cpumask_empty(&vdev->affinities[vec->vector]))
		return &vdev->affinities[vec->vector];
	return &vec->affinity;
}

static void verna_irq_unnotified(struct kref *ref)
{
}

static void verna_irq_release(struct verna_irq *vec)
{
	irq_set_affinity_notifier(vec->irq, NULL);
	irq_update_affinity_hint(vec->irq, NULL);
	free_irq(vec->irq, vec);
}

static int verna_irq_request(struct verna_dev *vdev, u32 vector)
{
	struct verna_irq *vec = &vdev->irqs[vector];
	u32 cpu = cpumask_local_spread(vector ? vector - 1 : 0,
				       dev_to_node(verna_device(vdev)));
	int err;

	vec->vdev = vdev;
	vec->vector = vector;
	vec->irq = pci_irq_vector(vdev->pdev, vector);
	if (vector)
		snprintf(vec->name, sizeof(vec->name), "verna-comp%u@%s", vector - 1,
			 pci_name(vdev->pdev));
	else
		snprintf(vec->name, sizeof(vec->name), "verna-async@%s",
			 pci_name(vdev->pdev));

	/* Before the request, which chooses the CPU: later a change waits for an interrupt. */
	cpumask_copy(&vec->affinity, cpumask_of(cpu));
	irq_update_affinity_hint(vec->irq, &vec->affinity);
	irq_set_affinity(vec->irq, verna_irq_cpus(vec));
	err = request_threaded_irq(vec->irq, verna_irq_handle, verna_irq_thread, 0,
				   vec->name, vec);
	if (err) {
		irq_update_affinity_hint(vec->irq, NULL);
		return err;
	}
	vec->notify.notify = verna_irq_moved;
	vec->notify.release = verna_irq_unnotified;
	irq_set_affinity_notifier(vec->irq, &vec->notify);
	return 0;
}

/* As many as the card has vectors; without memory for them hints are all there is. */
static void verna_affinities_alloc(struct verna_dev *vdev, u32 wanted)
{
	if (vdev->affinities)
		return;
	vdev->affinities = kcalloc(wanted, sizeof(*vdev->affinities), GFP_KERNEL);
	vdev->num_affinities = vdev->affinities ? wanted : 0;
}

/** verna_affinities_free - forget where interrupts went @vdev: the card */
void verna_affinities_free(struct verna_dev *vdev)
{
	kfree(vdev->affinities);
	vdev->affinities = NULL;
	vdev->num_affinities = 0;
}

/**
 * verna_irqs_alloc - allocate vectors and request their interrupts
 * @vdev: the card
 *
 * Return: 0 or an error of the PCI or interrupt core.
 */
int verna_irqs_alloc(struct verna_dev *vdev)
{
	u32 wanted = verna_irqs_wanted(vdev);
	int num, err;
	u32 i;

	num = verna_vectors_alloc(vdev, wanted);
	if (num < 0)
		return num;
	verna_affinities_alloc(vdev, wanted);
	err = -ENOMEM;
	vdev->irqs = kcalloc(num, sizeof(*vdev->irqs), GFP_KERNEL);
	if (!vdev->irqs)
		goto free_vectors;
	for (i = 0; i < num; i++) {
		err = verna_irq_request(vdev, i);
		if (err)
			goto free_irqs;
	}
	vdev->num_irqs = num;
	return 0;

free_irqs:
	while (i--)
		verna_irq_release(&vdev->irqs[i]);
	kfree(vdev->irqs);
	vdev->irqs = NULL;
free_vectors:
	pci_free_irq_vectors(vdev->pdev);
	return err;
}

/** verna_irqs_free - undoes verna_irqs_alloc(), if it was done @vdev: the card */
void verna_irqs_free(struct verna_dev *vdev)
{
	u32 i;

	if (!vdev->irqs)
		return;
	for (i = 0; i < vdev->num_irqs; i++)
		verna_irq_release(&vdev->irqs[i]);
	vdev->num_irqs = 0;
	kfree(vdev->irqs);
	vdev->irqs = NULL;
	pci_free_irq_vectors(vdev->pdev);
}

u32 verna_num_vectors(struct verna_dev *vdev)
{
	return vdev->num_irqs;
}

u32 verna_irq_count(struct verna_dev *vdev, u32 vector)
{
	return vector < vdev->num_irqs ? READ_ONCE(vdev->irqs[vector].count) : 0;
}

static u32 verna_comp_vector(struct verna_dev *vdev, u32 vector)
{
	return vdev->num_irqs > 1 ? 1 + vector % (vdev->num_irqs - 1) : 0;
}

u32 verna_num_comp_vectors(struct verna_dev *vdev)
{
	return max(vdev->num_irqs, 2U) - 1;
}
EXPORT_SYMBOL_GPL(verna_num_comp_vectors);

u32 verna_comp_eqn(struct verna_dev *vdev, u32 vector)
{
	return verna_comp_vector(vdev, vector);
}
EXPORT_SYMBOL_GPL(verna_comp_eqn);

int verna_comp_irq(struct verna_dev *vdev, u32 vector)
{
	return vdev->irqs[verna_comp_vector(vdev, vector)].irq;
}
EXPORT_SYMBOL_GPL(verna_comp_irq);

const struct cpumask *verna_comp_affinity(struct verna_dev *vdev, u32 vector)
{
	return &vdev->irqs[verna_comp_vector(vdev, vector)].affinity;
}
EXPORT_SYMBOL_GPL(verna_comp_affinity);

const struct cpumask *verna_comp_cpus(struct verna_dev *vdev, u32 vector)
{
	return verna_irq_cpus(&vdev->irqs[verna_comp_vector(vdev, vector)]);
}
EXPORT_SYMBOL_GPL(verna_comp_cpus);
