import type { ComponentProps, ReactNode } from "react";
import { cn } from "./cn.ts";

type BoxProps = Omit<ComponentProps<"input">, "type">;

const box = [
  "m-0 grid size-4 shrink-0 cursor-pointer appearance-none place-items-center rounded-[4px] border-[1.5px] border-control bg-surface-1 max-desk:size-5 max-desk:rounded-sm",
  "checked:border-accent checked:bg-accent indeterminate:border-accent indeterminate:bg-accent",
  "checked:after:-mt-0.5 checked:after:h-1.25 checked:after:w-2.25 checked:after:-rotate-45 checked:after:border-b-2 checked:after:border-l-2 checked:after:border-accent-on",
  "indeterminate:after:mt-0 indeterminate:after:h-0.5 indeterminate:after:w-2 indeterminate:after:rotate-0 indeterminate:after:rounded-[1px] indeterminate:after:border-0 indeterminate:after:bg-accent-on",
];

/** The box alone, for a cell whose label is elsewhere; it needs an aria-label. `indeterminate` shows a dash. */
export function CheckboxInput({ className, ...props }: BoxProps) {
  return <input type="checkbox" className={cn(box, className)} {...props} />;
}

/** A tick box with its label; the label is part of the target. */
export function Checkbox({ children, ...props }: Omit<BoxProps, "className"> & { children: ReactNode }) {
  return (
    <label className="tap min-w-0 gap-2 text-sm">
      <input type="checkbox" className={cn(box)} {...props} />
      {children}
    </label>
  );
}
