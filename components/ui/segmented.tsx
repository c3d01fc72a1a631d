import type { HTMLAttributes, ReactNode } from "react";
import { cn } from "./cn.ts";

/** The look of a choice of a few: buttons that are pressed, or links of which one is current. */
export function Segments({ as: Element = "fieldset", className, ...props }: HTMLAttributes<HTMLElement> & { as?: "nav" | "fieldset" }) {
  const look = cn(
    "inline-flex max-w-full gap-px rounded-md bg-surface-3 p-0.5",
    "*:inline-flex *:min-h-7 *:items-center *:justify-center *:gap-1.5 *:rounded-sm *:px-2.5 *:py-0.5 *:text-sm *:font-medium *:whitespace-nowrap *:text-support *:hover:text-content max-desk:*:min-h-10 max-desk:*:px-3",
    "*:aria-pressed:bg-surface-on *:aria-pressed:text-content *:aria-pressed:shadow-sm *:aria-[current]:bg-surface-on *:aria-[current]:text-content *:aria-[current]:shadow-sm",
    className,
  );
  return <Element className={look} {...props} />;
}

interface SegmentedProps {
  label: string;
  /** Each part is a submit button of the surrounding form, sent under this name. */
  name: string;
  value: string;
  options: { value: string; label: ReactNode; lang?: string }[];
}

/** A choice of two or three that takes effect when pressed. It lives in a form, so it works without JavaScript. */
export function Segmented({ label, name, value, options }: SegmentedProps) {
  return (
    <Segments aria-label={label}>
      {options.map((option) => (
        <button key={option.value} type="submit" name={name} value={option.value} lang={option.lang} aria-pressed={option.value === value}>
          {option.label}
        </button>
      ))}
    </Segments>
  );
}
