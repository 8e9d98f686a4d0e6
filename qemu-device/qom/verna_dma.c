/*
 * verna: the card's way to guest memory.
 *
 * Only RAM may be reached: an access to anything else could end in a device's
 * handler, which needs the BQL, while the card lock is held. So nothing here
 * uses address_space_write(): memory is mapped, and with no bounce buffers
 * allowed (see verna_realize()) what is not RAM, or not writable, or behind an
 * IOMMU that forbids it, or out of reach because bus mastering is off, cannot
 * be mapped. Unmapping marks it dirty and throws out translated code.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/bswap.h"
#include "qemu/rcu.h"
#include "exec/memory.h"
#include "hw/pci/pci.h"
#include "verna.h"

static MemTxAttrs verna_attrs(VernaState *s)
{
    return (MemTxAttrs) {
        .memory = 1,
        .requester_id = pci_requester_id(PCI_DEVICE(s)),
    };
}

static bool verna_wraps(uint64_t addr, size_t len)
{
    return len && addr + (len - 1) < addr;
}

/* An aligned word, such as an index in a queue record, is read in one piece. */
static void verna_copy(void *to, const void *from, size_t len)
{
    uintptr_t address = (uintptr_t)from;

    if (len == sizeof(uint64_t) && address % sizeof(uint64_t) == 0) {
        stq_he_p(to, qatomic_read((const uint64_t *)from));
    } else if (len == sizeof(uint32_t) && address % sizeof(uint32_t) == 0) {
        stl_he_p(to, qatomic_read((const uint32_t *)from));
    } else {
        memcpy(to, from, len);
    }
}

static bool verna_read(void *opaque, uint16_t fn, uint64_t addr, void *dst,
                       size_t len)
{
    VernaState *s = opaque;
    AddressSpace *as = pci_get_address_space(PCI_DEVICE(s));
    MemTxAttrs attrs = verna_attrs(s);
    char *to = dst;

    if (verna_wraps(addr, len)) {
        return false;
    }
    RCU_READ_LOCK_GUARD();
    while (len) {
        hwaddr offset, part = len;
        MemoryRegion *mr = address_space_translate(as, addr, &offset, &part,
                                                   false, attrs);

        if (!memory_access_is_direct(mr, false, attrs)) {
            return false;
        }
        verna_copy(to, (char *)memory_region_get_ram_ptr(mr) + offset, part);
        to += part;
        addr += part;
        len -= part;
    }
    return true;
}

static bool verna_write(void *opaque, uint16_t fn, uint64_t addr,
                        const void *src, size_t len)
{
    VernaState *s = opaque;
    AddressSpace *as = pci_get_address_space(PCI_DEVICE(s));
    MemTxAttrs attrs = verna_attrs(s);
    const char *from = src;

    if (verna_wraps(addr, len)) {
        return false;
    }
    while (len) {
        hwaddr part = len;
        void *to = address_space_map(as, addr, &part, true, attrs);

        if (!to) {
            return false;
        }
        memcpy(to, from, part);
        address_space_unmap(as, to, part, true, part);
        from += part;
        addr += part;
        len -= part;
    }
    return true;
}

/* Maps 8 aligned bytes to write; they are within one page. */
static uint64_t *verna_map64(VernaState *s, uint64_t addr)
{
    AddressSpace *as = pci_get_address_space(PCI_DEVICE(s));
    hwaddr len = sizeof(uint64_t);
    void *to;

    if (!QEMU_IS_ALIGNED(addr, sizeof(uint64_t))) {
        return NULL;
    }
    to = address_space_map(as, addr, &len, true, verna_attrs(s));
    if (to && len < sizeof(uint64_t)) {
        address_space_unmap(as, to, len, true, 0);
        return NULL;
    }
    return to;
}

static void verna_unmap64(VernaState *s, uint64_t *to)
{
    address_space_unmap(pci_get_address_space(PCI_DEVICE(s)), to,
                        sizeof(*to), true, sizeof(*to));
}

static bool verna_write_release64(void *opaque, uint16_t fn, uint64_t addr,
                                  uint64_t value)
{
    VernaState *s = opaque;
    uint64_t *to = verna_map64(s, addr);

    if (!to) {
        return false;
    }
    qatomic_store_release(to, value);
    verna_unmap64(s, to);
    return true;
}

static bool verna_atomic64(void *opaque, uint16_t fn, uint64_t addr, int op,
                           uint64_t operand, uint64_t compare,
                           uint64_t *original)
{
    VernaState *s = opaque;
    uint64_t *to = verna_map64(s, addr);

    if (!to) {
        return false;
    }
    *original = op ? qatomic_fetch_add(to, operand)
                   : qatomic_cmpxchg(to, compare, operand);
    verna_unmap64(s, to);
    return true;
}

static void verna_full_barrier(void *opaque)
{
    smp_mb();
}

/* Sent when the card lock has been released; see verna_engine.c. */
static void verna_raise(void *opaque, uint16_t fn, uint16_t vector)
{
    VernaState *s = opaque;

    if (vector < s->vectors) {
        set_bit_atomic(vector, s->engine.vectors);
        qatomic_set(&s->engine.raised, true);
    }
}

const verna_host_ops verna_dma_ops = {
    .read = verna_read,
    .write = verna_write,
    .write_release64 = verna_write_release64,
    .atomic64 = verna_atomic64,
    .full_barrier = verna_full_barrier,
    .raise = verna_raise,
};
