import { CircleAlert } from "lucide-react";
import { type ReactNode, useId } from "react";

interface ControlProps {
  id: string;
  "aria-invalid": boolean;
  "aria-describedby": string | undefined;
}

interface FieldProps {
  label: ReactNode;
  hint?: ReactNode;
  /** Takes the hint's place. */
  error?: string | undefined;
  /** A link at the right of the label, such as "Forgot it?". */
  aside?: ReactNode;
  children: (control: ControlProps) => ReactNode;
}

/** A visible label, one control, and below it the hint or what is wrong. */
export function Field({ label, hint, error, aside, children }: FieldProps) {
  const id = useId();
  const noteId = `${id}-note`;
  const note = error ? (
    <span className="flex gap-1.5 text-sm text-failed" id={noteId}>
      <CircleAlert className="mt-0.5 size-3.5" />
      {error}
    </span>
  ) : (
    hint && (
      <span className="text-xs text-pretty text-meta" id={noteId}>
        {hint}
      </span>
    )
  );
  return (
    <div className="grid content-start gap-1.5">
      {aside ? (
        <div className="flex min-w-0 items-center gap-2">
          <label htmlFor={id} className="min-w-0 flex-1 text-sm font-medium">
            {label}
          </label>
          {aside}
        </div>
      ) : (
        <label htmlFor={id} className="text-sm font-medium">
          {label}
        </label>
      )}
      {children({ id, "aria-invalid": Boolean(error), "aria-describedby": note ? noteId : undefined })}
      {note}
    </div>
  );
}

/** Two fields beside each other, below each other on a phone. */
export function FieldPair({ children }: { children: ReactNode }) {
  return <div className="grid grid-cols-2 gap-4 max-desk:grid-cols-1">{children}</div>;
}
