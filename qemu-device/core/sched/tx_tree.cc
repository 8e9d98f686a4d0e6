// SPDX-License-Identifier: GPL-2.0-or-later
#include "sched/tx_tree.h"

#include <algorithm>

namespace verna {
namespace {

/// Calls `f` for the part of `node` in each class of the mask.
template <typename F>
void for_each_part(TxNode* node, uint8_t classes, F f) {
  for (size_t i = 0; i < node->parts.size(); i++)
    if (classes >> i & 1) f(&node->parts[i]);
}

}  // namespace

void TxTree::add(TxSource* source, TxPart* part, Nanos now) {
  part->sources.add(source);
  source->part_ = part;
  if (part->sources.size() == 1) begin(part, now);
}

void TxTree::remove(TxSource* source) {
  TxPart* part = source->part_;
  part->sources.remove(source);
  source->part_ = nullptr;
  if (part->sources.empty()) end(part);
}

/// `part` has work, which it had not before.
void TxTree::begin(TxPart* part, Nanos now) {
  TxNode* node = part->node;
  if (!node->is_held() && node->shaper.ready_at() > now) hold(node);
  node->busy = static_cast<uint8_t>(node->busy | 1u << part->tclass);
  if (!node->is_held()) enter(part, now);
}

/// `part` has work and may send: those above have work, too.
void TxTree::enter(TxPart* part, Nanos now) {
  for (;;) {
    TxSiblings& siblings = classes_[part->tclass].siblings_of(*part);
    const bool first = siblings.empty();
    siblings.add(part, now);
    part = part->parent();
    if (!first || !part) return;
    TxNode* node = part->node;
    if (!node->is_held() && node->shaper.ready_at() > now) hold(node);
    node->busy = static_cast<uint8_t>(node->busy | 1u << part->tclass);
    if (node->is_held()) return;
  }
}

/// `part` may not send any more. Returns the part above if it has nothing left.
TxPart* TxTree::leave(TxPart* part) {
  TxSiblings& siblings = classes_[part->tclass].siblings_of(*part);
  siblings.remove(part);
  return siblings.empty() ? part->parent() : nullptr;
}

/// `part` has no work any more. Null: nothing happens.
void TxTree::end(TxPart* part) {
  while (part) {
    TxNode* node = part->node;
    node->busy = static_cast<uint8_t>(node->busy & ~(1u << part->tclass));
    if (node->is_held()) {
      if (!node->busy) held_.erase(node);
      return;
    }
    part = leave(part);
  }
}

void TxTree::hold(TxNode* node) {
  for_each_part(node, node->busy, [this](TxPart* part) { end(leave(part)); });
  held_.push(node, node->shaper.ready_at());
}

void TxTree::let_go(TxNode* node, Nanos now) {
  held_.erase(node);
  for_each_part(node, node->busy, [&](TxPart* part) { enter(part, now); });
}

void TxTree::charge_limit(TxNode* node, uint64_t bytes, Nanos now) {
  node->shaper.charge(bytes, now);
  if (node->busy && !node->is_held() && node->shaper.ready_at() > now) hold(node);
}

void TxTree::release(Nanos now) {
  while (held_.next() <= now) let_go(held_.first(), now);
}

std::vector<TxSource*> TxTree::sources(size_t tclass) const {
  std::vector<TxSource*> out = classes_.all()[tclass].sources();
  held_.for_each([&](const TxNode* node) { append_sources(node->parts[tclass], &out); });
  return out;
}

size_t TxTree::num_held() const {
  std::vector<TxSource*> waiting;
  held_.for_each([&](const TxNode* node) {
    for (const TxPart& part : node->parts) append_sources(part, &waiting);
  });
  return waiting.size();
}

void TxTree::limit(TxNode* node, uint32_t kbps, Nanos now) {
  node->shaper.configure(kbps, 0, now);
  const Nanos ready = node->shaper.ready_at();
  if (!node->is_held()) {
    if (node->busy && ready > now) hold(node);
  } else if (ready > now) {
    held_.move(node, ready);
  } else {
    let_go(node, now);
  }
}

void TxTree::guarantee(TxNode* node, uint32_t kbps, Nanos now) {
  node->guarantee.configure(kbps, now);
  if (node->is_held()) return;
  for_each_part(node, node->busy, [this](TxPart* part) {
    classes_[part->tclass].siblings_of(*part).guarantee_changed(part);
  });
}

void TxTree::share(TxNode* node, uint16_t weight) {
  for (TxPart& part : node->parts)
    classes_[part.tclass].siblings_of(part).set_weight(&part, weight);
}

/// Changes whom it takes turns with.
template <typename Change>
void TxTree::relocate(TxNode* node, Nanos now, Change change) {
  const uint16_t weight = node->weight();
  const uint8_t among = node->is_held() ? 0 : node->busy;
  for_each_part(node, among, [this](TxPart* part) { end(leave(part)); });
  share(node, 1);
  change();
  share(node, weight);
  for_each_part(node, among, [&](TxPart* part) { enter(part, now); });
}

void TxTree::prioritize(TxNode* node, uint8_t priority, Nanos now) {
  relocate(node, now, [=] { node->priority = priority; });
}

void TxTree::attach(TxNode* node, TxNode* parent, Nanos now) {
  relocate(node, now, [=] {
    if (node->parent) node->parent->num_children--;
    node->parent = parent;
    if (parent) parent->num_children++;
  });
}

}  // namespace verna
