import { expect, test } from "vitest";
import { folded } from "#lib/i18n/folded.ts";

// Guarantee: a search finds a name however its i is written. Mutation: toLocaleLowerCase("tr") makes "ocı" of "OCI".
test.each([
  ["OCI", "oci"],
  ["OCİ", "ocı"],
  ["Işık İnşaat", "işik inşaat"],
])("%s and %s are the same", (one, other) => expect(folded(one)).toBe(folded(other)));
