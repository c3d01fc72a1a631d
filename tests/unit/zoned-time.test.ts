import { expect, test } from "vitest";
import { readWallText, wallText } from "#lib/i18n/zoned-time.ts";

// Guarantee: a pause ends at the hour that the owner reads on their site's clock. Mutation: the browser's own zone, or UTC.
test.each([
  ["2026-11-20T18:30", "Europe/Istanbul", "2026-11-20T15:30:00.000Z"],
  ["2026-07-01T09:00", "Europe/London", "2026-07-01T08:00:00.000Z"],
  ["2026-12-01T09:00", "Europe/London", "2026-12-01T09:00:00.000Z"],
  ["2026-11-20T00:00", "Asia/Kolkata", "2026-11-19T18:30:00.000Z"],
  // Twice: the first. Skipped: an hour later.
  ["2026-10-25T01:30", "Europe/London", "2026-10-25T00:30:00.000Z"],
  ["2026-03-29T01:30", "Europe/London", "2026-03-29T01:30:00.000Z"],
])("%s in %s is %s", (text, zone, moment) => {
  expect(readWallText(text, zone)?.toISOString()).toBe(moment);
});

test("a moment and its text are the same in the zone", () => {
  const at = new Date("2026-11-20T15:30:00.000Z");
  expect(wallText(at, "Europe/Istanbul")).toBe("2026-11-20T18:30");
  expect(readWallText(wallText(at, "America/Santiago"), "America/Santiago")).toEqual(at);
});

test.each(["", "2026-11-20", "2026-11-20T18", "20.11.2026 18:30", "2026-13-40T99:99"])("%j is no date and hour yet", (text) => {
  expect(readWallText(text, "Europe/Istanbul")).toBeNull();
});
