"use client";

import { useTranslations } from "next-intl";
import { useRef, useState } from "react";
import { useUndoWords } from "#components/contracts/use-undo-words.ts";
import { type SendFailure, sendJson } from "#components/forms/send-json.ts";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { useToast } from "#components/ui/toast.tsx";
import { useClocked, useServerTime } from "#components/workbench/live/clock.tsx";
import { UndoLabel } from "#components/workbench/undo-label.tsx";
import type { UndoStep } from "#lib/contracts/undo-step.ts";
import type { DeskFormat } from "#lib/i18n/desk-format.ts";
import type { DeskLead, DeskRules, LeadDetail, LeadStatus } from "#lib/leads/desk-shapes.ts";
import type { SiteId } from "#lib/site.ts";
import { expectedDelivery, expectedSale, expectedStep, type SealDraft } from "./expected-lead.ts";
import { isSaved } from "./list/lead-state.ts";
import { useStaleWords } from "./list/use-lead-words.ts";
import type { Leads } from "./list/use-leads.ts";
import { readLead } from "./read-leads.ts";

/** A seal that waits for an answer: is it another sale of the visit? */
interface SecondSale {
  lead: DeskLead;
  draft: SealDraft;
  sealedCents: number;
  sealedCurrency: string;
}

/** A lead whose newest step can be undone. */
export interface Undoable {
  id: string;
  version: number;
  undo: UndoStep | null;
}

interface Change {
  lead: Undoable;
  path: string;
  body: Record<string, unknown>;
  /** How the row looks until the server has answered. */
  expect: Partial<DeskLead>;
  done: string | ((answer: Record<string, unknown>) => string);
  /** The step before it may be undone next; its row and the panel offer that. */
  isUndo?: boolean;
  /** Told when it is sent, and again when it was refused or got no answer. */
  onStands?: (stands: boolean) => void;
  /** The amount that was not saved, if the server refuses. */
  amount?: string;
  onRefused?: (failure: SendFailure) => boolean;
}

interface Options {
  siteId: SiteId;
  currency: string;
  format: DeskFormat;
  rules: DeskRules;
  leads: Leads;
  /** The whole lead as it was read after a change. */
  onRead: (detail: LeadDetail) => void;
}

/** Sends changes: shown at once, taken back with a reason if the server refuses. */
function usePerform({ siteId, format, leads, onRead }: Options, undo: (lead: Undoable) => void) {
  const t = useTranslations();
  const toast = useToast();
  const errorText = useErrorText();
  const staleWords = useStaleWords(format);
  const serverTime = useServerTime();
  const clocked = useClocked();
  const undoWords = useUndoWords(format.money);
  const underWay = useRef(new Map<string, Promise<void>>());
  /** The toast of each lead that offers an undo. */
  const offers = useRef(new Map<string, string>());

  /** One change of a lead after the other: an undo must not overtake the seal that it takes back. */
  function perform(change: Change, key: string = crypto.randomUUID()): void {
    const before = underWay.current.get(change.lead.id) ?? Promise.resolve();
    const offer = offers.current.get(change.lead.id);
    if (offer) toast.close(offer); // what it offers is used, or no longer the newest step
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
    change.onStands?.(true);
    const sent = await sendJson("POST", `/api/sites/${siteId}/${path}`, body, key);
    if (!sent.ok) {
      leads.forget(lead.id);
      change.onStands?.(false);
      if (!change.onRefused?.(sent)) tellRefusal(change, sent, key);
      if (sent.code === "OFFLINE") return;
    }
    const detail = await readLead(siteId, lead.id);
    // The server took the change, but the lead could not be read: the next read shows it.
    const shown = leads.find(lead.id);
    if (detail) onRead(detail);
    else if (sent.ok && shown) leads.patch({ ...shown, ...expected });
    leads.forget(lead.id);
    if (sent.ok) tellDone(change, sent.value, detail);
  }

  /** After the lead was read: then row, panel and toast count down to the same moment, the server's. */
  function tellDone({ done, isUndo }: Change, answer: Record<string, unknown>, detail: LeadDetail | null): void {
    const words = typeof done === "function" ? done(answer) : done;
    if (!detail?.undo || isUndo) return void toast.done(words);
    const label = clocked(<UndoLabel what={undoWords.offer(detail.undo)} until={detail.undo.until} />);
    offers.current.set(detail.id, toast.done(words, { label, onPress: () => undo(detail) }));
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

/** What an operator does. */
export function useLeadActions(options: Options) {
  const { format, currency, rules } = options;
  const t = useTranslations();
  const serverTime = useServerTime();
  const undoWords = useUndoWords(format.money);
  const [second, setSecond] = useState<SecondSale | null>(null);
  const [undone, setUndone] = useState<ReadonlySet<string>>(new Set());
  const perform = usePerform(options, (lead) => actions.undo(lead));
  const step = (kind: UndoStep["kind"], facts?: Partial<UndoStep>) => expectedStep(kind, serverTime(), facts);
  const moved = (lead: DeskLead, undo: UndoStep) => ({ version: lead.version + 1, needsYou: null, undo });
  const withReason = (reason: string) => (reason.trim() ? { reason: reason.trim() } : {});

  const actions = {
    /** Proofs of the steps that were undone here, before the page knows. */
    undone,
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
        expect: {
          ...moved(lead, step("seal", { amountCents: shownCents, currency: chosen })),
          status: "sealed",
          sale: expectedSale(lead, draft),
          delivery: expectedDelivery(lead, rules, serverTime()),
        },
        done: t("desk.seal.done", { amount }),
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
        expect: { ...moved(lead, step(to)), status: to },
        done: t(`desk.seal.stageDone.${to}`),
      });
    },
    undo(lead: Undoable) {
      const { undo } = lead;
      if (!undo) return;
      perform({
        lead,
        path: `calls/${lead.id}/undo`,
        body: { ...(undo.proofId && { proofId: undo.proofId }), expectedVersion: lead.version },
        expect: { undo: null },
        done: (answer) => undoWords.done(undo, answer),
        isUndo: true,
        onStands: (stands) =>
          setUndone((before) => new Set([...before].filter((id) => id !== undo.proofId).concat(stands ? undo.proofId : []))),
      });
    },
    correct(lead: DeskLead, amountCents: number, reason: string) {
      if (!lead.sale || !isSaved(lead.sale)) return;
      const amount = format.money(amountCents, lead.sale.currency);
      perform({
        lead,
        path: `sales/${lead.sale.id}/correct`,
        body: { amountCents, ...withReason(reason), expectedVersion: lead.sale.version },
        expect: {
          sale: { ...lead.sale, amountCents, isPredicted: false },
          undo: step("correct", { amountCents, beforeCents: lead.sale.amountCents, currency: lead.sale.currency }),
        },
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
        expect: { ...moved(lead, step("cancel")), status: "cancelled", sale: { ...lead.sale, status: "CANCELED", amountCents: 0 } },
        done: t("oci.adjust.cancelled"),
      });
    },
  };
  return actions;
}

export type LeadActions = ReturnType<typeof useLeadActions>;
