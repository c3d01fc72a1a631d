"use client";

import { useTranslations } from "next-intl";
import { useRef, useState } from "react";
import { type SendFailure, sendJson } from "#components/forms/send-json.ts";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { useToast } from "#components/ui/toast.tsx";
import { useServerTime } from "#components/workbench/live/clock.tsx";
import { UndoLabel } from "#components/workbench/undo-label.tsx";
import type { DeskFormat } from "#lib/i18n/desk-format.ts";
import type { DeskLead, LeadDetail, LeadStatus } from "#lib/leads/desk-shapes.ts";
import type { SiteId } from "#lib/site.ts";
import { isSaved } from "./list/lead-state.ts";
import { useStaleWords } from "./list/use-lead-words.ts";
import type { Leads } from "./list/use-leads.ts";
import { readLead } from "./read-leads.ts";

export const undoMs = 10 * 60_000;
const dayMs = 86_400_000;

export interface SealDraft {
  /** Null: the site's expected value, marked as such. */
  amountCents: number | null;
  /** What the button says, also when the server chooses the amount. */
  shownCents: number;
  currency: string;
  note: string;
}

/** A seal that waits for an answer: is it another sale of the visit? */
interface SecondSale {
  lead: DeskLead;
  draft: SealDraft;
  sealedCents: number;
  sealedCurrency: string;
}

interface Change {
  lead: DeskLead;
  path: string;
  body: Record<string, unknown>;
  /** How the row looks until the server has answered. */
  expect: Partial<DeskLead>;
  done: string;
  isUndoable?: boolean;
  /** The amount that was not saved, if the server refuses. */
  amount?: string;
  onRefused?: (failure: SendFailure) => boolean;
}

interface Options {
  siteId: SiteId;
  currency: string;
  format: DeskFormat;
  leads: Leads;
  /** The whole lead as it was read after a change. */
  onRead: (detail: LeadDetail) => void;
}

/** Sends changes: shown at once, taken back with a reason if the server refuses. */
function usePerform({ siteId, format, leads, onRead }: Options, undo: (lead: DeskLead) => void) {
  const t = useTranslations();
  const toast = useToast();
  const errorText = useErrorText();
  const staleWords = useStaleWords(format);
  const serverTime = useServerTime();
  const underWay = useRef(new Map<string, Promise<void>>());

  /** One change of a lead after the other: an undo must not overtake the seal that it takes back. */
  function perform(change: Change, key: string = crypto.randomUUID()): void {
    const before = underWay.current.get(change.lead.id) ?? Promise.resolve();
    underWay.current.set(
      change.lead.id,
      before.then(() => send(change, key)),
    );
  }

  /** The key belongs to the intention: trying again with it cannot seal twice. */
  async function send(change: Change, key: string): Promise<void> {
    const { lead, path, body } = change;
    const expected = { ...change.expect, changedByYou: true, changedAt: serverTime().toISOString() };
    leads.expect(lead.id, expected);
    const sent = await sendJson("POST", `/api/sites/${siteId}/${path}`, body, key);
    if (sent.ok) {
      tellDone(change, sent.value);
    } else {
      leads.forget(lead.id);
      if (!change.onRefused?.(sent)) tellRefusal(change, sent, key);
      if (sent.code === "OFFLINE") return;
    }
    const detail = await readLead(siteId, lead.id);
    // The server took the change, but the lead could not be read: the next read shows it.
    if (detail) onRead(detail);
    else if (sent.ok) leads.patch({ ...lead, ...expected });
    leads.forget(lead.id);
  }

  function tellDone({ lead, done, isUndoable }: Change, { version }: Record<string, unknown>): void {
    const label = <UndoLabel until={new Date(Date.now() + undoMs).toISOString()} />;
    const onPress = () => undo({ ...lead, version: typeof version === "number" ? version : lead.version + 1 });
    toast.done(done, isUndoable ? { label, onPress } : undefined);
  }

  function tellRefusal(change: Change, failure: SendFailure, key: string): void {
    const notSaved = change.amount ? t("desk.seal.notSavedAmount", { amount: change.amount }) : t("desk.seal.notSaved");
    const mayRepeat = failure.code === "OFFLINE" || failure.code === "REQUEST_IN_FLIGHT" || /UNAVAILABLE|INTERNAL/.test(failure.code);
    if (failure.code === "STALE_VERSION") toast.failed(`${staleWords(failure.facts, serverTime())} ${notSaved}`);
    else if (mayRepeat) toast.failed(errorText(failure.code), { label: t("actions.tryAgain"), onPress: () => perform(change, key) });
    else toast.failed(`${errorText(failure.code)} ${notSaved}`);
  }
  return (change: Change) => perform(change);
}

/** What a sealed lead looks like before the server has answered. */
function expectedSale(lead: DeskLead, { amountCents, shownCents, currency, note }: SealDraft): NonNullable<DeskLead["sale"]> {
  return {
    id: lead.sale?.id ?? "",
    version: 0,
    status: "CONFIRMED",
    amountCents: shownCents,
    currency,
    isPredicted: amountCents === null,
    deliveryBlock: lead.clickBlock,
    note: note.trim() || null,
    adjustableUntil: new Date(Date.parse(lead.calledAt) + 54 * dayMs).toISOString(),
    atGoogle: null,
  };
}

/** What an operator does. */
export function useLeadActions(options: Options) {
  const { format, currency } = options;
  const t = useTranslations();
  const serverTime = useServerTime();
  const [second, setSecond] = useState<SecondSale | null>(null);
  const perform = usePerform(options, (lead) => actions.undo(lead));
  const moved = (lead: DeskLead) => ({
    version: lead.version + 1,
    needsYou: null,
    undoUntil: new Date(serverTime().getTime() + undoMs).toISOString(),
  });
  const withReason = (reason: string) => (reason.trim() ? { reason: reason.trim() } : {});

  const actions = {
    second,
    dismissSecond: () => setSecond(null),
    seal(lead: DeskLead, draft: SealDraft, separateSale = false) {
      setSecond(null);
      const { amountCents, shownCents, currency: chosen } = draft;
      const amount = format.money(shownCents, chosen);
      perform({
        lead,
        path: `calls/${lead.id}/seal`,
        body: {
          ...(amountCents !== null && { amountCents }),
          ...(chosen !== currency && { currency: chosen }),
          ...(draft.note.trim() && { note: draft.note.trim() }),
          ...(separateSale && { separateSale }),
          expectedVersion: lead.version,
        },
        expect: { ...moved(lead), status: "sealed", sale: expectedSale(lead, draft) },
        done: t("desk.seal.done", { amount }),
        isUndoable: true,
        amount,
        onRefused({ code, facts }) {
          if (code !== "VISIT_ALREADY_SEALED") return false;
          setSecond({ lead, draft, sealedCents: Number(facts.amountCents), sealedCurrency: String(facts.currency ?? currency) });
          return true;
        },
      });
    },
    move(lead: DeskLead, to: Exclude<LeadStatus, "sealed" | "cancelled">, reason = "") {
      perform({
        lead,
        path: `calls/${lead.id}/stage`,
        body: { to, ...withReason(reason), expectedVersion: lead.version },
        expect: { ...moved(lead), status: to },
        done: t(`desk.seal.stageDone.${to}`),
        isUndoable: true,
      });
    },
    undo(lead: DeskLead) {
      perform({
        lead,
        path: `calls/${lead.id}/undo`,
        body: { expectedVersion: lead.version },
        expect: { version: lead.version + 1, undoUntil: null },
        done: t("desk.seal.undone"),
      });
    },
    correct(lead: DeskLead, amountCents: number, reason: string) {
      if (!lead.sale || !isSaved(lead.sale)) return;
      const amount = format.money(amountCents, lead.sale.currency);
      perform({
        lead,
        path: `sales/${lead.sale.id}/correct`,
        body: { amountCents, ...withReason(reason), expectedVersion: lead.sale.version },
        expect: { sale: { ...lead.sale, amountCents, isPredicted: false } },
        done: t("oci.adjust.corrected", { amount }),
        amount,
      });
    },
    cancel(lead: DeskLead, reason: string) {
      if (!lead.sale || !isSaved(lead.sale)) return;
      perform({
        lead,
        path: `sales/${lead.sale.id}/cancel`,
        body: { ...withReason(reason), expectedVersion: lead.sale.version },
        expect: { ...moved(lead), status: "cancelled", sale: { ...lead.sale, status: "CANCELED", amountCents: 0 } },
        done: t("oci.adjust.cancelled"),
        isUndoable: true,
      });
    },
  };
  return actions;
}

export type LeadActions = ReturnType<typeof useLeadActions>;
