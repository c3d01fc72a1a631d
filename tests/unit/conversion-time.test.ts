import fc from "fast-check";
import { expect, test } from "vitest";
import { adsApiTime, dataManagerTime, scriptTime, scriptTimePattern } from "#lib/providers/conversion-time.ts";
import golden from "#tests/support/conversion-time-golden.json" with { type: "json" };
import { everyCase } from "#tests/support/every-case.ts";

// Guarantee: every door of Google gets the same second, in its own spelling, on both sides of every change of clocks.
test("every golden instant is written as each of Google's APIs wants it", () => {
  everyCase(golden.times, ([instant = "", zone = "", script, adsApi, dataManager]) => {
    const at = new Date(instant);
    expect([scriptTime(at, zone), adsApiTime(at, zone), dataManagerTime(at)]).toEqual([script, adsApi, dataManager]);
    expect(script).toMatch(scriptTimePattern);
  });
});

test("what is malformed is not the script's time", () => {
  everyCase(golden.malformed, (text) => {
    expect(text).not.toMatch(scriptTimePattern);
  });
});

test("any instant in any zone reads back as itself", () => {
  const zones = fc.constantFrom(...Intl.supportedValuesOf("timeZone"));
  const instants = fc.date({ min: new Date("1970-01-02T00:00:00Z"), max: new Date("2100-01-01T00:00:00Z"), noInvalidDate: true });
  fc.assert(
    fc.property(zones, instants, (zone, at) => {
      const second = Math.floor(at.getTime() / 1000) * 1000;
      const script = scriptTime(at, zone);
      expect(script).toMatch(scriptTimePattern);
      expect(Date.parse(adsApiTime(at, zone).replace(" ", "T"))).toBe(second);
      expect(adsApiTime(at, zone).replace(/:(\d\d)$/, "$1")).toBe(script);
      expect(Date.parse(dataManagerTime(at))).toBe(second);
    }),
    { numRuns: 300 },
  );
});

test("an offset with seconds, as Liberia had until 1972, still names its second", () => {
  const at = new Date("1971-06-01T12:00:00Z");
  expect(Date.parse(adsApiTime(at, "Africa/Monrovia").replace(" ", "T"))).toBe(at.getTime());
});

test.each([
  ["an invalid time", new Date(Number.NaN), "Europe/Istanbul"],
  ["a time before 1970", new Date(-1), "UTC"],
  ["a time that is before 1970 on the wall", new Date(0), "America/New_York"],
  ["a time after 9999", new Date(253_402_300_800_000), "UTC"],
  ["a zone that does not exist", new Date(), "Europe/Constantinopolis"],
  ["an offset in place of a zone", new Date(), "+03:00"],
  ["no zone", new Date(), ""],
])("%s is refused, never replaced by now", (_name, at, zone) => {
  expect(() => scriptTime(at, zone)).toThrow(RangeError);
  expect(() => adsApiTime(at, zone)).toThrow(RangeError);
});

test("Data Manager's time is refused alike", () => {
  expect(() => dataManagerTime(new Date(Number.NaN))).toThrow(RangeError);
  expect(() => dataManagerTime(new Date(-1))).toThrow(RangeError);
});
