import { cva, type VariantProps } from "class-variance-authority";
import { Fragment, type ReactNode } from "react";

const card = cva("mt-3.5 grid gap-3 rounded-lg px-4 pt-3.5 pb-4", {
  variants: { tone: { plain: "bg-surface-2", failed: "bg-failed-bg", retry: "bg-retry-bg", blocked: "bg-blocked-bg" } },
});
export type CureTone = NonNullable<VariantProps<typeof card>["tone"]>;

interface CureFactsProps {
  tone: CureTone;
  /** The first one says what is wrong. Facts without a value are left out. */
  facts: readonly { name: string; value: ReactNode }[];
  children: ReactNode;
}

/** What is wrong, who can fix it, and how, with the buttons that do it. */
export function CureFacts({ tone, facts, children }: CureFactsProps) {
  return (
    <div className={card({ tone })}>
      <dl className="grid grid-cols-[max-content_minmax(0,1fr)] gap-x-3 gap-y-1.25 text-sm">
        {facts
          .filter(({ value }) => value)
          .map(({ name, value }) => (
            <Fragment key={name}>
              <dt className="text-support">{name}</dt>
              <dd className="text-pretty first-of-type:font-semibold">{value}</dd>
            </Fragment>
          ))}
      </dl>
      {children}
    </div>
  );
}
