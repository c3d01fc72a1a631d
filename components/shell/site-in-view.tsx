"use client";

import { useParams } from "next/navigation";
import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import type { SiteId } from "#lib/site.ts";

const SiteInViewContext = createContext<[siteId: SiteId | null, name: (siteId: SiteId | null) => void]>([null, () => {}]);

/** Knows which site the reader looks at: the one in the address, or the one that the page says it belongs to. */
export function SiteInViewProvider({ children }: { children: ReactNode }) {
  return <SiteInViewContext value={useState<SiteId | null>(null)}>{children}</SiteInViewContext>;
}

export function useSiteInView(): unknown {
  const { siteId } = useParams();
  const [named] = useContext(SiteInViewContext);
  return siteId ?? named;
}

/** Stands on a page whose address names no site, such as a receipt. */
export function SiteInView({ siteId }: { siteId: SiteId }) {
  const [, name] = useContext(SiteInViewContext);
  useEffect(() => {
    name(siteId);
    return () => name(null);
  }, [siteId, name]);
  return null;
}
