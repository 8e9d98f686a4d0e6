# SPDX-License-Identifier: GPL-2.0
# What this kernel's interfaces look like: each file of probes/ is compiled against
# its headers as a part of the driver would be. One that compiles defines
# VERNA_HAVE_<name> in verna_have.h, on which every object depends; why another does
# not is in <name>.log beside the objects.

verna-probes := $(patsubst $(src)/compat/probes/%.c,%,\
		$(sort $(wildcard $(src)/compat/probes/*.c)))
verna-haves := $(addprefix compat/,$(addsuffix .have,$(verna-probes)))
targets += $(verna-haves) compat/verna_have.h
clean-files += $(verna-haves) $(verna-haves:.have=.log) compat/verna_have.h

# -Werror would let a mere warning decide.
verna-probe-flags = $(NOSTDINC_FLAGS) $(LINUXINCLUDE) \
	-include $(srctree)/include/linux/compiler_types.h \
	$(filter-out -Werror,$(KBUILD_CPPFLAGS) $(KBUILD_CFLAGS) $(KBUILD_CFLAGS_MODULE)) \
	-DMODULE -DKBUILD_MODNAME='"probe"' -Wno-missing-prototypes -Wno-missing-declarations

quiet_cmd_verna_probe = PROBE   $@
      cmd_verna_probe = name=$$(echo $(*F) | tr a-z A-Z); \
	if $(CC) $(verna-probe-flags) -fsyntax-only $< 2> $(basename $@).log; \
	then echo "\#define VERNA_HAVE_$$name 1"; \
	else echo "/* no VERNA_HAVE_$$name */"; fi > $@

quiet_cmd_verna_have = GEN     $@
      cmd_verna_have = { echo "/* SPDX-License-Identifier: GPL-2.0 */"; \
	cat $(filter %.have,$^); } > $@

$(obj)/compat/%.have: $(src)/compat/probes/%.c FORCE
	$(call if_changed,verna_probe)

$(obj)/compat/verna_have.h: $(addprefix $(obj)/,$(verna-haves)) FORCE
	$(call if_changed,verna_have)

$(addprefix $(obj)/,$(verna-y) $(verna_ib-y)): $(obj)/compat/verna_have.h
