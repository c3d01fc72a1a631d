import type { ReactNode } from "react";

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
    <fieldset className="seg" aria-label={label}>
      {options.map((option) => (
        <button key={option.value} type="submit" name={name} value={option.value} lang={option.lang} aria-pressed={option.value === value}>
          {option.label}
        </button>
      ))}
    </fieldset>
  );
}
