import Link from "next/link";
import { cn } from "./cn.ts";

export const brandName = "OpsMantik";

/** The mark and the name; with an address they lead there. */
export function Brand({ href, className }: { href?: string; className?: string }) {
  const look = cn(
    "flex h-9 shrink-0 items-center gap-2.25 text-[15px] font-semibold tracking-[-0.01em]",
    href && "max-desk:min-h-11",
    className,
  );
  const content = (
    <>
      <BrandMark />
      {brandName}
    </>
  );
  return href ? (
    <Link className={look} href={href}>
      {content}
    </Link>
  ) : (
    <span className={look}>{content}</span>
  );
}

/** The seal: a ring that is almost closed around a point. */
function BrandMark() {
  return (
    <svg className="size-5.5 shrink-0" viewBox="0 0 24 24" aria-hidden="true">
      <rect width="24" height="24" rx="6" className="fill-accent" />
      <circle
        cx="12"
        cy="12"
        r="6.1"
        className="fill-none stroke-accent-on"
        strokeWidth="2"
        strokeDasharray="33 5.3"
        strokeDashoffset="-2.2"
        strokeLinecap="round"
      />
      <circle cx="12" cy="12" r="2.1" className="fill-accent-on" />
    </svg>
  );
}
