import { CopyButton } from "#components/ui/copy-button.tsx";

interface CodeBlockProps {
  value: string;
  label: string;
  /** What copying it is called where it is the thing to do. */
  copy?: string;
}

/** Text to paste elsewhere, exactly as it is: it scrolls inside itself, and one press copies it, or selects it where copying is refused. */
export function CodeBlock({ value, label, copy }: CodeBlockProps) {
  return (
    <figure className="min-w-0 rounded-md bg-surface-2 inset-ring inset-ring-line-1">
      <figcaption className="flex min-w-0 items-center gap-2 border-b border-line-1 py-1 pr-1 pl-3">
        <span className="min-w-0 flex-1 text-xs text-meta">{label}</span>
        <CopyButton value={value} size="sm" {...(copy && { label: copy, tone: "primary" })} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre className="max-h-72 overflow-auto p-3 text-xs leading-5" tabIndex={0} data-untranslated>
        <code className="id select-all">{value}</code>
      </pre>
    </figure>
  );
}
