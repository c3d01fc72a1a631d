import { cn } from "./cn.ts";

function initialsOf(name: string): string {
  const words = name.trim().split(/\s+/).filter(Boolean);
  const last = words.length > 1 ? words.at(-1) : undefined;
  const letters = last ? [words[0]?.[0], last[0]] : [...(words[0] ?? "")].slice(0, 2);
  return letters.join("").toLocaleUpperCase("tr");
}

/** Initials of a person (round) or a site. Decoration: the name always stands beside it. */
export function Avatar({ name, round = false }: { name: string; round?: boolean }) {
  return (
    <span className={cn("avatar", round && "round")} aria-hidden="true">
      {initialsOf(name)}
    </span>
  );
}
