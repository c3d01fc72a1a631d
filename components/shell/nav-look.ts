import { cva, type VariantProps } from "class-variance-authority";

const wide =
  "flex items-center gap-2.5 rounded-md px-2 hover:bg-surface-2 hover:text-content aria-[current]:bg-surface-3 aria-[current]:text-content";

export const navLink = cva("font-medium", {
  variants: {
    look: {
      side: [wide, "relative h-8.5 text-support rail:h-10 rail:justify-center rail:px-0"],
      sheet: [wide, "h-12 text-lg text-content"],
      tab: "relative grid min-w-0 place-content-center justify-items-center gap-0.75 text-[11px] leading-3.5 text-meta focus-visible:-outline-offset-4 aria-[current]:text-accent-text",
    },
  },
});
export const navIcon = { side: "rail:size-4.5", sheet: "size-4.5", tab: "size-5.5" };
export const navText = { side: "truncate rail:sr-only", sheet: "truncate", tab: "max-w-full truncate px-0.5" };

export type NavLook = NonNullable<VariantProps<typeof navLink>["look"]>;
