"use client";

import { useTranslations } from "next-intl";
import { type Dispatch, type ReactNode, useRef, useState } from "react";
import { type SendFailure, sendJson } from "#components/forms/send-json.ts";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { useToast } from "#components/ui/toast.tsx";
import type { DeskFormat } from "#lib/i18n/desk-format.ts";
import type { DeskLead, LeadDetail, LeadStatus } from "#lib/leads/desk-shapes.ts";
import { useServerTime } from "./desk-clock.tsx";
import { type DeskEvent, isSaved } from "./desk-state.ts";
import { UndoCountdown } from "./undo-countdown.tsx";
import { useStaleWords } from "./use-stale-words.ts";

const undoMs = 10 * 60_000;
/** Shorter than the 20 s by which two looks for changes overlap: one that was passed over meanwhile is found by the next. */
const readMs = 10_000;

export interface SealDraft {
  /** Null: the site's expected value, marked as such. */
  amountCents: number | null;
  /** What the button says, also when the server chooses the amount. */
  shownCents: number;
  currency: string;
  note: string;
}

/** A seal that waits for an answer: is it another sale of the visit? */
export interface SecondSale {
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
  siteId: string;
  currency: string;
  format: DeskFormat;
  dispatch: Dispatch<DeskEvent>;
}

export async function fetchLead(siteId: string, id: string): Promise<LeadDetail | null> {
  const response = await fetch(`/api/sites/${siteId}/calls/${id}`, { signal: AbortSignal.timeout(readMs) }).catch(() => null);
  return response?.ok ? await response.json().catch(() => null) : null; // our own route, checked where it was read
}

/** What an operator does. Shown at once, taken back with a reason if the server refuses. */
export function useLeadActions({ siteId, currency, format, dispatch }: Options) {
  const t = useTranslations("desk");
  const toast = useToast();
  const errorText = useErrorText();
  const staleWords = useStaleWords(format);
  const serverTime = useServerTime();
  const [second, setSecond] = useState<SecondSale | null>(null);
  const underWay = useRef(new Map<string, Promise<void>>());

  async function readAgain(id: string): Promise<void> {
    const detail = await fetchLead(siteId, id);
    dispatch(detail ? { type: "detail", detail, isAnswer: true } : { type: "unread", id });
  }

  /** One change of a lead after the other: an undo must not overtake the seal that it takes back. */
  async function perform(change: Change, key: string = crypto.randomUUID()): Promise<void> {
    const before = underWay.current.get(change.lead.id);
    const run = (async () => {
      await before;
      await send(change, key);
    })();
    underWay.current.set(change.lead.id, run);
    await run;
  }

  /** The key belongs to the intention: trying again with it can not seal twice. */
  async function send(change: Change, key: string): Promise<void> {
    const { lead, path, body, expect, done, isUndoable = false } = change;
    dispatch({ type: "expect", id: lead.id, patch: { ...expect, changedByYou: true, changedAt: serverTime().toISOString() } });
    const sent = await sendJson("POST", `/api/sites/${siteId}/${path}`, body, key);
    if (sent.ok) {
      const until = new Date(Date.now() + undoMs).toISOString();
      const version = typeof sent.value.version === "number" ? sent.value.version : undefined;
      const undo: ReactNode = <UndoCountdown until={until} format={format} />;
      toast.done(
        done,
        isUndoable ? { label: undo, onPress: () => actions.undo({ ...lead, version: version ?? lead.version + 1 }) } : undefined,
      );
    } else {
      dispatch({ type: "refused", id: lead.id });
      if (!change.onRefused?.(sent)) tellRefusal(change, sent, key);
    }
    if (sent.ok || sent.code !== "OFFLINE") await readAgain(lead.id);
  }

  function tellRefusal(change: Change, failure: SendFailure, key: string): void {
    const notSaved = change.amount ? t("seal.notSavedAmount", { amount: change.amount }) : t("seal.notSaved");
    const mayRepeat = failure.code === "OFFLINE" || failure.code === "REQUEST_IN_FLIGHT" || /UNAVAILABLE|INTERNAL/.test(failure.code);
    if (failure.code === "STALE_VERSION") toast.failed(`${staleWords(failure.facts, serverTime())} ${notSaved}`);
    else if (mayRepeat) toast.failed(errorText(failure.code), { label: t("seal.tryAgain"), onPress: () => void perform(change, key) });
    else toast.failed(`${errorText(failure.code)} ${notSaved}`);
  }

  const undoUntil = () => new Date(serverTime().getTime() + undoMs).toISOString();

  const actions = {
    second,
    dismissSecond: () => setSecond(null),
    seal(lead: DeskLead, draft: SealDraft, separateSale = false) {
      setSecond(null);
      const { amountCents, shownCents, currency: chosen } = draft;
      const amount = format.money(shownCents, chosen);
      void perform({
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
          status: "sealed",
          version: lead.version + 1,
          needsYou: null,
          undoUntil: undoUntil(),
          sale: {
            id: lead.sale?.id ?? "",
            version: 0,
            status: "CONFIRMED",
            amountCents: shownCents,
            currency: chosen,
            isPredicted: amountCents === null,
            deliveryBlock: lead.clickBlock,
            note: draft.note.trim() || null,
            adjustableUntil: new Date(Date.parse(lead.calledAt) + 54 * 86_400_000).toISOString(),
            atGoogle: null,
          },
        },
        done: t("seal.done", { amount }),
        isUndoable: true,
        amount,
        onRefused({ code, facts }) {
          if (code !== "VISIT_ALREADY_SEALED") return false;
          setSecond({ lead, draft, sealedCents: Number(facts.amountCents), sealedCurrency: String(facts.currency ?? currency) });
          return true;
        },
      });
    },
    move(lead: DeskLead, to: Exclude<LeadStatus, "sealed">, reason?: string) {
      void perform({
        lead,
        path: `calls/${lead.id}/stage`,
        body: { to, ...(reason && { reason }), expectedVersion: lead.version },
        expect: { status: to, version: lead.version + 1, needsYou: null, undoUntil: undoUntil() },
        done: t(`seal.stageDone.${to}`),
        isUndoable: true,
      });
    },
    undo(lead: DeskLead) {
      void perform({
        lead,
        path: `calls/${lead.id}/undo`,
        body: { expectedVersion: lead.version },
        expect: { version: lead.version + 1, undoUntil: null },
        done: t("seal.undone"),
      });
    },
    correct(lead: DeskLead, amountCents: number, reason: string) {
      if (!lead.sale || !isSaved(lead.sale)) return;
      const amount = format.money(amountCents, lead.sale.currency);
      void perform({
        lead,
        path: `sales/${lead.sale.id}/correct`,
        body: { amountCents, ...(reason.trim() && { reason: reason.trim() }), expectedVersion: lead.sale.version },
        expect: { sale: { ...lead.sale, amountCents, isPredicted: false } },
        done: t("correct.done", { amount }),
        amount,
      });
    },
    cancel(lead: DeskLead, reason: string) {
      if (!lead.sale || !isSaved(lead.sale)) return;
      void perform({
        lead,
        path: `sales/${lead.sale.id}/cancel`,
        body: { ...(reason.trim() && { reason: reason.trim() }), expectedVersion: lead.sale.version },
        expect: {
          status: "cancelled",
          version: lead.version + 1,
          undoUntil: undoUntil(),
          sale: { ...lead.sale, status: "CANCELED", amountCents: 0 },
        },
        done: t("cancel.done"),
        isUndoable: true,
      });
    },
  };
  return actions;
}

export type LeadActions = ReturnType<typeof useLeadActions>;
