import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";

interface EmptyStateProps {
  icon: LucideIcon;
  title: string;
  /** The next step, as a button or link. */
  action?: ReactNode;
  /** The page's main heading when nothing else on it is. */
  heading?: "h1" | "h2";
  children: ReactNode;
}

export function EmptyState({ icon: Icon, title, action, heading: Heading = "h2", children }: EmptyStateProps) {
  return (
    <div className="empty">
      <Icon className="i" />
      <Heading className="h2">{title}</Heading>
      <p>{children}</p>
      {action}
    </div>
  );
}
