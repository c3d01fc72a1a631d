import type { ComponentProps, ReactNode } from "react";

/** A tick box with its words; the words are part of the target. */
export function Checkbox({ children, ...props }: Omit<ComponentProps<"input">, "type" | "className"> & { children: ReactNode }) {
  return (
    <label className="row sm tap">
      <input type="checkbox" className="check" {...props} />
      {children}
    </label>
  );
}
