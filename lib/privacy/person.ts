import { z } from "zod";
import type { SiteId } from "#lib/site.ts";
import { dataKinds, personKinds } from "./person-kinds.ts";

/** Whom a request is about. SQL reads a number in the site's own spelling and finds what belongs to it (find_person). */
export const askedPerson = z.object({ kind: z.enum(personKinds), value: z.string().trim().min(3).max(512) });
export type AskedPerson = z.output<typeof askedPerson>;

/** With the hashes under which calls keep the number, and others that were found: their keys are not in the database. */
export type NamedPerson = AskedPerson & { callerHashes?: string[]; foundHashes?: string[] };

/** Each round can lead to a number that only the round before found. */
const roundsMax = 10;

/**
 * The person with all their numbers under each key of the vault's ring. While a key is being replaced, calls of one number are stored
 * under two hashes, and SQL can compute neither.
 */
export async function namedPerson(door: PersonDoor, asked: AskedPerson): Promise<{ person: NamedPerson; preview: PersonPreview }> {
  let person: NamedPerson = asked.kind === "phone" ? { ...asked, callerHashes: await door.callerHashes([{ phone: asked.value }]) } : asked;
  let preview = await door.preview(person);
  for (let round = 0; round < roundsMax; round++) {
    const known = new Set([...(person.callerHashes ?? []), ...(person.foundHashes ?? [])]);
    const found = await door.callerHashes(preview.phoneHashes.map((hash) => ({ hash })));
    const added = found.filter((hash) => !known.has(hash));
    if (added.length === 0) break;
    person = { ...person, foundHashes: [...(person.foundHashes ?? []), ...added] };
    preview = await door.preview(person);
  }
  return { person, preview };
}

const storedKinds = z.enum(dataKinds);

export const personPreview = z.object({
  kinds: z.array(z.object({ kind: storedKinds, rows: z.number(), firstAt: z.string().nullable(), lastAt: z.string().nullable() })),
  /** Never leaves the server: Redis is asked with it. */
  visitors: z.array(z.string()),
  /** SHA-256 of the person's numbers. Never leaves the server either. */
  phoneHashes: z.array(z.string()),
  /** Sales that Google has, and keeps. */
  atGoogle: z.number(),
  inFlight: z.number(),
});
export type PersonPreview = z.output<typeof personPreview>;

export const erasureReceipt = z.object({
  id: z.string(),
  askedBy: z.enum(personKinds),
  identifierHash: z.string().nullable(),
  actor: z.object({ kind: z.enum(["user", "system"]), name: z.string().nullable() }),
  counts: z.partialRecord(storedKinds, z.number()),
  proofId: z.string().nullable(),
  startedAt: z.string(),
  finishedAt: z.string().nullable(),
});
export type ErasureReceipt = z.output<typeof erasureReceipt>;

/** With the salt, which is given out once: SHA-256 of "<salt>:<identifier>" is the receipt's hash. */
const givenReceipt = erasureReceipt.extend({ salt: z.string() });
export type GivenReceipt = z.output<typeof givenReceipt>;

export const eraseStep = z.object({
  isDone: z.boolean(),
  receiptId: z.string(),
  visitors: z.array(z.string()),
  receipt: givenReceipt.optional(),
});

const storedRow = z.record(z.string(), z.unknown());
export const exportPage = z.object({
  person: z.record(z.string(), z.unknown()).nullable(),
  events: z.array(storedRow),
  next: z.string().nullable(),
});

/** How a person's data is reached: as a site's owner, or as whoever runs the installation. */
export interface PersonDoor {
  siteId: SiteId;
  /** Numbers as calls keep them, under each key of the vault's ring. */
  callerHashes(numbers: ({ phone: string } | { hash: string })[]): Promise<string[]>;
  preview(person: NamedPerson): Promise<PersonPreview>;
  erase(person: NamedPerson & { pageViews: number }, receiptId: string | null): Promise<z.output<typeof eraseStep>>;
  /** The first page has everything but most events; `after` asks for further events. */
  export(person: NamedPerson, after: string | null): Promise<z.output<typeof exportPage>>;
}
