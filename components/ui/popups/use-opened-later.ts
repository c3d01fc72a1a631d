"use client";

import { useEffect, useState } from "react";

/** Says "open" one moment after the first look: what is open from the start would stand there without having come. */
export function useOpenedLater(open: boolean): boolean {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(open), [open]);
  return isOpen && open;
}
