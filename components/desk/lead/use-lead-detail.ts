"use client";

import { type Dispatch, useEffect } from "react";
import type { DeskLead, LeadDetail } from "#lib/leads/desk-shapes.ts";
import type { DeskEvent } from "../desk-state.ts";
import { fetchLead } from "../use-lead-actions.tsx";

/** Walking through the list with a held key must not ask for each lead on the way. */
const settleMs = 120;

const stamp = (lead: DeskLead) =>
  [lead.version, lead.sale?.version, lead.sale?.amountCents, lead.delivery?.status, lead.delivery?.verdict].join("/");

/** Reads the whole lead when it is chosen, and again when its row has changed. */
export function useLeadDetail(
  siteId: string,
  lead: DeskLead | undefined,
  detail: LeadDetail | undefined,
  dispatch: Dispatch<DeskEvent>,
): void {
  const id = lead?.id;
  const isCurrent = lead && detail && stamp(lead) === stamp(detail);
  const seen = lead && stamp(lead);
  useEffect(() => {
    if (!id || !seen || isCurrent) return;
    let isWanted = true;
    const timer = setTimeout(async () => {
      const found = await fetchLead(siteId, id);
      if (found && isWanted) dispatch({ type: "detail", detail: found });
    }, settleMs);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [siteId, id, seen, isCurrent, dispatch]);
}
