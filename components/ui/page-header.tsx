import type { ReactNode } from "react";

/** The page's title, a quiet fact beside it, and its actions at the right. */
export function PageHeader({ title, note, children }: { title: ReactNode; note?: ReactNode; children?: ReactNode }) {
  return (
    <header className="bar">
      <h1>{title}</h1>
      {note && <span className="t3 sm">{note}</span>}
      {children && <span className="end">{children}</span>}
    </header>
  );
}
