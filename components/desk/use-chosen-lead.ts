"use client";

import { useState } from "react";
import { isPhone } from "#components/history/layers.ts";
import { stepFocus } from "#components/workbench/row-focus.ts";
import type { Address } from "#components/workbench/use-address.ts";
import { usePhone } from "#components/workbench/use-phone.ts";
import type { FilterText } from "#lib/leads/desk-query.ts";

export interface DeskView {
  filter: FilterText;
  lead?: string | undefined;
  figure?: string | undefined;
  days?: string | undefined;
}

interface Options {
  address: Address<DeskView>;
  /** What the list is of. */
  of: string;
  /** The lead that the server found for the address, or the first of the list. */
  firstId: string | null;
  isListed: (id: string) => boolean;
}

/** Which lead is in view: beside the list on a desk, in a sheet on a phone. The address follows, so that it can be shared. */
export function useChosenLead({ address, of, firstId, isListed }: Options) {
  const named = address.view.lead;
  const isOnPhone = usePhone();
  const [held, setHeld] = useState({ id: firstId, of, named });
  if (named !== held.named) setHeld({ ...held, named, id: named ?? held.id });
  // Another filter brings another list: a lead that is not on it gives way to the first.
  else if (of !== held.of) setHeld({ ...held, of, id: held.id && (held.id === named || isListed(held.id)) ? held.id : firstId });

  /** Beside the list a lead makes no step in the history; a sheet is a layer that Back closes. */
  const choose = (lead: string) => (isPhone() && !named ? address.open({ lead }) : address.slide({ lead }));
  return {
    id: held.id,
    isInSheet: isOnPhone && named !== undefined && named === held.id,
    choose,
    close: () => address.close({ lead: undefined }),
    /** The order is the one on the screen. */
    step(by: 1 | -1) {
      const next = stepFocus(by, held.id);
      if (next) choose(next);
    },
  };
}
