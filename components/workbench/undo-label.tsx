"use client";

import { useNow } from "./live/clock.tsx";

/**
 * What would be undone, and how long it still can be, second by second: "Undo seal of ₺4,250 (9:48)". It asks for no message: in a toast it is
 * drawn outside of its page, which carries them.
 */
export function UndoLabel({ what, until }: { what: string; until: string }) {
  const seconds = Math.max(0, Math.ceil((Date.parse(until) - useNow(1000).getTime()) / 1000));
  const left = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  return <span suppressHydrationWarning>{`${what} (${left})`}</span>;
}
