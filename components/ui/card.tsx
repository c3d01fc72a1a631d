import { type ReactNode, useId } from "react";
import { cn } from "./cn.ts";

interface CardProps {
  title?: ReactNode;
  /** Stands at the right of the title: a count, a link, one button. */
  end?: ReactNode;
  /** Facts beside the title, in quiet type. */
  note?: ReactNode;
  className?: string;
  children: ReactNode;
}

/** A flat surface with a hairline. With a title it is a named region. */
export function Card({ title, note, end, className, children }: CardProps) {
  const titleId = useId();
  if (!title) return <div className={cn("card", className)}>{children}</div>;
  return (
    <section className={cn("card", className)} aria-labelledby={titleId}>
      <div className="card-h">
        <h2 id={titleId}>{title}</h2>
        {note && <span className="sm t3">{note}</span>}
        {end && <span className="end">{end}</span>}
      </div>
      {children}
    </section>
  );
}
