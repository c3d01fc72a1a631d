import { cva } from "class-variance-authority";
import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { cn } from "#components/ui/cn.ts";

/** Figures over a list, side by side. */
export const tiles = cva("grid gap-2", {
  variants: {
    count: {
      4: "grid-cols-4 @max-[620px]/main:grid-cols-2",
      7: "grid-cols-7 @max-[900px]/main:grid-cols-4 @max-[900px]/main:*:last:col-span-2 @max-[620px]/main:grid-cols-3 @max-[620px]/main:*:last:col-span-3",
    },
  },
});

const tile =
  "grid min-w-0 grid-rows-[auto_auto_1fr] content-start gap-0.5 rounded-lg border border-line-1 bg-surface-1 px-3 py-[11px] text-left max-desk:p-2.5";
const label = "font-medium text-xs";
const figureLook = "flex items-center gap-[7px] whitespace-nowrap font-semibold text-xl tracking-[-0.02em]";
const sub = "min-h-4 text-meta text-xs";

interface Fact {
  name: string;
  figure: ReactNode;
  note: ReactNode;
}

interface TileProps extends Fact {
  icon?: LucideIcon;
  /** The colour of its state. */
  tone?: string;
  isPressed: boolean;
  onPress: () => void;
}

/** A figure that filters the list; pressing it again removes the filter. */
export function Tile({ name, figure, note, icon: Icon, tone, isPressed, onPress }: TileProps) {
  return (
    <button
      type="button"
      className={cn(
        tile,
        "group hover:bg-surface-2 focus-visible:rounded-lg aria-pressed:border-accent aria-pressed:bg-accent-soft aria-pressed:inset-ring aria-pressed:inset-ring-accent",
      )}
      aria-pressed={isPressed}
      onClick={onPress}
    >
      <span className={cn(label, tone)}>{name}</span>
      <span className={figureLook}>
        {Icon && <Icon className={cn("size-4 shrink-0 stroke-2", tone)} />}
        {figure}
      </span>
      <span className={cn(sub, "group-aria-pressed:text-support")}>{note}</span>
    </button>
  );
}

/** Figures that are only read; `link` leads to their rows. */
export function FactTiles({ facts }: { facts: readonly (Fact & { key: string; link?: ReactNode })[] }) {
  return (
    <dl className={tiles({ count: 4 })}>
      {facts.map(({ key, name, figure, note, link }) => (
        <div key={key} className={tile}>
          <dt className={label}>{name}</dt>
          <dd className={figureLook}>{figure}</dd>
          <dd className={sub}>{note}</dd>
          {link && <dd className={sub}>{link}</dd>}
        </div>
      ))}
    </dl>
  );
}
