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
    <span className="err" id={noteId}>
      <CircleAlert className="i i-14" />
      {error}
    </span>
  ) : (
    hint && (
      <span className="hint" id={noteId}>
        {hint}
      </span>
    )
  );
  return (
    <div className="field">
      {aside ? (
        <div className="row">
          <label htmlFor={id} className="sm med grow">
            {label}
          </label>
          {aside}
        </div>
      ) : (
        <label htmlFor={id}>{label}</label>
      )}
      {children({ id, "aria-invalid": Boolean(error), "aria-describedby": note ? noteId : undefined })}
      {note}
    </div>
  );
}
