import type { Json } from "#lib/db/types.gen.ts";

/** Text that Postgres takes: no U+0000 and no half of a character, which a cut leaves and which a click id may hold from the start. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll("\u0000", "\uFFFD");
}

/** Plain data as JSON that the database takes, whatever stands in its texts. */
export function storable(value: unknown): Json {
  return JSON.parse(JSON.stringify(value, (_key, part) => (typeof part === "string" ? storableText(part) : part)));
}
