import type { z } from "zod";
import { AppError } from "#lib/platform/app-error.ts";

/** Sentences for the codes that our schemas use as messages; a form shows its own text for the code. */
const fieldSentences: Record<string, string> = {
  REQUIRED: "is required",
  TOO_LONG: "is too long",
  TOO_SHORT: "is too short",
  TOO_MANY: "has too many entries",
  OUT_OF_RANGE: "is too small or too large",
  SAME_NAME: "is the same as another name",
  SAME_AMOUNT: "is the same as another amount",
  OTHER_ACCOUNT: "belongs to another account than the one that is connected",
  INVALID_EMAIL: "is not an e-mail address",
  INVALID_DOMAIN: "is not a domain name such as example.com",
  INVALID_TIMEZONE: "is not an IANA time zone such as Europe/Istanbul",
  INVALID_AMOUNT: "is not an amount such as 1500.50",
  INVALID_CURRENCY: "is not an ISO 4217 currency such as TRY",
};

interface FieldError {
  field: string;
  code: string;
  message: string;
}

/** How far an input is from an option of a union: a wrong field is nearer than a value of another type. */
const distance = (issues: readonly z.core.$ZodIssue[]) =>
  issues.length + (issues.some(({ code, path }) => code === "invalid_type" && path.length === 0) ? 0.5 : 0);

/** A union fails with the issues of each of its options: those of the nearest one say what is wrong with the field. */
function issuesOfFields(issues: readonly z.core.$ZodIssue[], parent: readonly PropertyKey[] = []): z.core.$ZodIssue[] {
  return issues.flatMap((issue) => {
    const path = [...parent, ...issue.path];
    const options = issue.code === "invalid_union" ? issue.errors : [];
    const [nearest] = options.toSorted((a, b) => distance(a) - distance(b));
    return nearest ? issuesOfFields(nearest, path) : [{ ...issue, path }];
  });
}

function fieldError(issue: z.core.$ZodIssue): FieldError {
  const unknown = issue.code === "unrecognized_keys" ? issue.keys : [];
  const field = [...issue.path, ...unknown.slice(0, 1)].join(".") || "body"; // a path and a query are always objects
  const sentence = fieldSentences[issue.message];
  if (sentence) return { field, code: issue.message, message: `${field} ${sentence}` };
  return { field, code: "VALIDATION_FAILED", message: `${field}: ${issue.message}` };
}

/** Parses with a schema; a failure names each field. Without a schema the input is not looked at. */
export function parseInput<T>(schema: z.ZodType<T> | undefined, input: unknown): T {
  if (!schema) return undefined as T; // the caller's type says undefined too: no schema, no value
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const errors = issuesOfFields(parsed.error.issues).slice(0, 20).map(fieldError);
  throw new AppError("VALIDATION_FAILED", { detail: errors.map((error) => error.message).join("; "), extra: { errors } });
}

export function parseJson(text: string): unknown {
  try {
    return text === "" ? {} : JSON.parse(text);
  } catch {
    throw new AppError("MALFORMED_JSON", { detail: "The body is not JSON." });
  }
}
