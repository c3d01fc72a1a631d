import { type ComponentProps, type ReactNode, useId } from "react";
import { cn } from "./cn.ts";

interface CardProps extends Omit<ComponentProps<"section">, "title"> {
  as?: "section" | "article";
  title?: ReactNode;
  /** Stands at the right of the title: a count, a link, one button. */
  end?: ReactNode;
  /** Facts beside the title, in quiet type. */
  note?: ReactNode;
}

/** A flat surface with a hairline. With a title or a label it is a named region. */
export function Card({ as: Element = "section", title, note, end, className, children, ...props }: CardProps) {
  const titleId = useId();
  return (
    <Element
      className={cn("min-w-0 rounded-lg border border-line-1 bg-surface-1", className)}
      {...(title && { "aria-labelledby": titleId })}
      {...props}
    >
      {title && (
        <CardHead>
          <h2 id={titleId}>{title}</h2>
          {note && <span className="text-sm text-meta">{note}</span>}
          {end && <span className="ml-auto">{end}</span>}
        </CardHead>
      )}
      {children}
    </Element>
  );
}

export function CardHead({ className, ...props }: ComponentProps<"div">) {
  return (
    <div className={cn("flex min-h-12 items-center gap-3 border-b border-line-1 px-4 py-2 max-desk:flex-wrap", className)} {...props} />
  );
}

export function CardBody({ className, ...props }: ComponentProps<"div">) {
  return <div className={cn("p-4", className)} {...props} />;
}

/** The last line of a card: its buttons, or what is said about the whole. */
export function CardFoot({ className, ...props }: ComponentProps<"div">) {
  return <div className={cn("flex flex-wrap items-center gap-3 border-t border-line-1 px-4 py-3", className)} {...props} />;
}
