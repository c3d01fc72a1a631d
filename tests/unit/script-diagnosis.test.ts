import { describe, expect, test } from "vitest";
import { diagnose, type ScriptRunLine, type ScriptStatus } from "#lib/oci/script/status.ts";
import { isOlder } from "#lib/oci/script/version.ts";

const now = "2026-11-16T12:00:00Z";
const hoursAgo = (hours: number) => new Date(Date.parse(now) - hours * 3_600_000).toISOString();
const run = (change: Partial<ScriptRunLine> = {}): ScriptRunLine => ({
  kind: "export",
  counts: { seals: 3 },
  version: "1.0.0",
  errorCode: null,
  times: 1,
  at: hoursAgo(1),
  ...change,
});
const status = (change: Partial<ScriptStatus> = {}): ScriptStatus => ({
  syncMethod: "script",
  now,
  hasKey: true,
  waiting: 0,
  runs: [run()],
  ...change,
});

// Guarantee: an owner is told the first thing that is wrong, and nothing when nothing is.
test.each([
  [
    "ran while the site sent by API",
    { runs: [run({ kind: "verify", errorCode: "WRONG_SYNC_METHOD" })] },
    { code: "SWITCHED", tone: "retry" },
  ],
  [
    "silent since the site sent by API",
    { runs: [run({ kind: "verify", errorCode: "WRONG_SYNC_METHOD", at: hoursAgo(30) })] },
    { code: "SILENT", hours: 30 },
  ],
  ["no key, no run", { hasKey: false, runs: [] }, { code: "NO_KEY" }],
  ["a key, no run", { runs: [] }, { code: "NEVER_RAN" }],
  ["refused", { runs: [run({ kind: "verify", errorCode: "INVALID_CREDENTIALS" })] }, { code: "FAILED", errorCode: "INVALID_CREDENTIALS" }],
  [
    "a stranger's wrong key beside a script that runs",
    { waiting: 1, runs: [run({ kind: "verify", errorCode: "INVALID_CREDENTIALS", at: hoursAgo(0) }), run()] },
    { code: "WELL" },
  ],
  [
    "a wrong key since the script went silent",
    { runs: [run({ kind: "verify", errorCode: "INVALID_CREDENTIALS", at: hoursAgo(1) }), run({ at: hoursAgo(26) })] },
    { code: "FAILED", errorCode: "INVALID_CREDENTIALS" },
  ],
  ["apply() threw", { runs: [run({ kind: "ack-failed" })] }, { code: "FAILED", errorCode: "APPLY_FAILED" }],
  ["silent, nothing waits", { runs: [run({ at: hoursAgo(26) })] }, { code: "SILENT", hours: 26, tone: "retry" }],
  ["silent, and something waits", { waiting: 2, runs: [run({ at: hoursAgo(26) })] }, { code: "SILENT", hours: 26, tone: "failed" }],
  ["once a day is enough", { runs: [run({ at: hoursAgo(24.5) })] }, { code: "WELL" }],
  ["an old script", { runs: [run({ version: "0.9.12" })] }, { code: "OLD" }],
  ["a script that says no version", { runs: [run({ version: null })] }, { code: "OLD" }],
  ["nothing to send", { runs: [run({ counts: { seals: 0 } })] }, { code: "IDLE" }],
  ["all is well", { waiting: 4 }, { code: "WELL", tone: "completed" }],
])("%s", (_name, change, expected) => {
  expect(diagnose(status(change), "1.0.0")).toMatchObject(expected);
});

describe("versions", () => {
  test.each([
    ["1.0.0", "1.0.0", false],
    ["1.0.0", "1.0.1", true],
    ["1.10.0", "1.9.0", false],
    ["2.0.0", "1.9.9", false],
    ["1", "1.0.0", false],
    ["x", "1.0.0", false],
    [null, "1.0.0", true],
  ])("%s against %s", (given, current, expected) => {
    expect(isOlder(given, current)).toBe(expected);
  });
});
