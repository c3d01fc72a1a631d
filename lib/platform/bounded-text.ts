import { z } from "zod";

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
    .refine((text) => !text.includes("\0") && text.isWellFormed(), "contains characters that cannot be stored");
}
