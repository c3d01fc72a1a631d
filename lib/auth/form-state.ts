/** What a form's action answers. Codes become messages in the reader's language (errors.<code>). */
export interface FormState {
  status: "idle" | "ok" | "error";
  code?: string;
  /** How long to wait before the next try. */
  waitSeconds?: number;
  fields?: Record<string, string>;
  /** What was typed, so that an error does not empty the form. Never the password. */
  values?: Record<string, string>;
}

export const idleForm: FormState = { status: "idle" };
