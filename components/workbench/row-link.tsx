"use client";

import type { ComponentProps, MouseEvent } from "react";

/** A link that opens a row on this page; a new tab is the reader's wish. */
export function RowLink({ href, onOpen, children, ...props }: ComponentProps<"a"> & { href: string; onOpen: () => void }) {
  const follow = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    onOpen();
  };
  return (
    <a href={href} onClick={follow} {...props}>
      {children}
    </a>
  );
}
