import { z } from "zod";

/** Control characters, and those that are invisible or turn the direction of what follows. */
const hidden = /[\p{Cc}\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/u;

/**
 * Text that Postgres can store: no NUL and no lone surrogate, trimmed, bounded.
 * Both would otherwise surface as an error of the database instead of one that names the field.
 */
export function boundedText(maxLength: number): z.ZodType<string> {
  return z
    .string("REQUIRED")
    .trim()
    .min(1, "REQUIRED")
    .max(maxLength, "TOO_LONG")
    .refine((text) => text.isWellFormed() && !hidden.test(text), "contains characters that cannot be shown");
}
