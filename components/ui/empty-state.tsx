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
    <div className="grid justify-items-center gap-2 px-6 py-8 text-center [&>:is(a,button)]:mt-2">
      <Icon className="mb-1 size-5.5 text-meta" />
      <Heading className="text-base font-semibold tracking-[-0.003em]">{title}</Heading>
      <p className="max-w-[38ch] text-sm text-pretty text-support">{children}</p>
      {action}
    </div>
  );
}
