import type { ComponentProps, ReactNode } from "react";
import { cn } from "./cn.ts";

type ChoiceProps = Omit<ComponentProps<"input">, "type" | "children"> & { children: ReactNode };

/** One of several answers, as a tile; the radio button itself is only heard. */
export function Choice({ className, children, ...props }: ChoiceProps) {
  return (
    <label
      className={cn(
        "relative flex min-h-10 cursor-pointer items-center rounded-md px-3 py-1.5 text-sm inset-ring inset-ring-line-2 hover:bg-surface-2 has-checked:bg-accent-soft has-checked:font-medium has-checked:text-accent-text has-checked:inset-ring-2 has-checked:inset-ring-accent has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-focus max-desk:min-h-11",
        className,
      )}
    >
      <input type="radio" className="sr-only" {...props} />
      {children}
    </label>
  );
}

/** The answers beside each other, below each other on a phone. */
export function Choices({ className, ...props }: ComponentProps<"fieldset">) {
  return <fieldset className={cn("grid grid-cols-2 gap-2 max-desk:grid-cols-1", className)} {...props} />;
}
