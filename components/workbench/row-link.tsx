"use client";

import type { ComponentProps, MouseEvent } from "react";

/** A link that opens a row on this page; a modified click still opens a new tab. */
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
