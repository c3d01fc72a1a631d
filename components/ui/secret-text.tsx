import { CopyButton } from "./copy-button.tsx";

/** A value to carry elsewhere: readable, selectable as a whole, and copied with one press. */
export function SecretText({ value, label }: { value: string; label: string }) {
  return (
    <div className="secret">
      <code className="id grow font-sans select-all" title={label}>
        {value}
      </code>
      <CopyButton value={value} size="sm" />
    </div>
  );
}
