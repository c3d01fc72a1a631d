export const brandName = "OpsMantik";

/** The seal: a ring that is almost closed around a point. */
export function BrandMark() {
  return (
    <svg className="size-5.5" viewBox="0 0 24 24" aria-hidden="true">
      <rect width="24" height="24" rx="6" fill="var(--color-accent)" />
      <circle
        cx="12"
        cy="12"
        r="6.1"
        fill="none"
        stroke="var(--color-accent-on)"
        strokeWidth="2"
        strokeDasharray="33 5.3"
        strokeDashoffset="-2.2"
        strokeLinecap="round"
      />
      <circle cx="12" cy="12" r="2.1" fill="var(--color-accent-on)" />
    </svg>
  );
}
