const dayMs = 86_400_000;

/** What a clock on the wall of a zone shows at a moment, as if it were UTC. */
function wallClockMs(at: Date, timeZone: string): number {
  const parts = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  }).formatToParts(at);
  const of = (type: string) => Number(parts.find((part) => part.type === type)?.value);
  return Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second"));
}

/** The moment at which a clock in the zone shows this. An hour that a zone has twice is the first; one that it skips is an hour later. */
export function momentOf(wallClock: Date, timeZone: string): Date {
  const wanted = wallClock.getTime();
  const withOffsetOf = (offsetAtMs: number) => wanted - (wallClockMs(new Date(offsetAtMs), timeZone) - offsetAtMs);
  const [before, after] = [withOffsetOf(wanted - dayMs), withOffsetOf(wanted + dayMs)];
  return new Date(wallClockMs(new Date(before), timeZone) === wanted || wallClockMs(new Date(after), timeZone) !== wanted ? before : after);
}

/** What the field of a date and an hour holds (2026-11-20T18:30), as the zone's clock shows it. */
export const wallText = (at: Date, timeZone: string) => new Date(wallClockMs(at, timeZone)).toISOString().slice(0, 16);

/** The moment that such a text means in the zone; null while it is not whole. */
export function readWallText(text: string, timeZone: string): Date | null {
  const wallClock = new Date(`${text}Z`);
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(text) && !Number.isNaN(wallClock.getTime()) ? momentOf(wallClock, timeZone) : null;
}
