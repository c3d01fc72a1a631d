import type { ReactNode } from "react";
import { cn } from "#components/ui/cn.ts";

interface CountListProps {
  lines: readonly { key: string; name: ReactNode; value: ReactNode }[];
  className?: string;
  children?: ReactNode;
}

/** Names and what is counted of each, one per line. */
export function CountList({ lines, className, children }: CountListProps) {
  return (
    <ul className={cn("grid gap-1 rounded-md bg-surface-2 px-3 py-2.5 text-sm", className)}>
      {lines.map(({ key, name, value }) => (
        <li key={key} className="flex justify-between gap-3">
          <span>{name}</span>
          <span className="font-medium">{value}</span>
        </li>
      ))}
      {children}
    </ul>
  );
}
