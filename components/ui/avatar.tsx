import { cn } from "./cn.ts";

/** A person goes by first and last name, a business by the first two words. */
function initialsOf(name: string, isPerson: boolean): string {
  const [first = "", ...others] = name.trim().split(/\s+/);
  const second = isPerson ? others.at(-1) : others[0];
  const letters = second ? [...first].slice(0, 1).concat([...second].slice(0, 1)) : [...first].slice(0, 2);
  return letters.join("").toLocaleUpperCase("tr");
}

/** Initials of a person (round) or a site. Decoration: the name always stands beside it. */
export function Avatar({ name, round = false }: { name: string; round?: boolean }) {
  return (
    <span
      className={cn(
        "grid size-7 shrink-0 place-items-center rounded-[6px] bg-surface-3 text-[11px] font-semibold tracking-[0.02em] text-support",
        round && "rounded-full",
      )}
      aria-hidden="true"
    >
      {initialsOf(name, round)}
    </span>
  );
}
