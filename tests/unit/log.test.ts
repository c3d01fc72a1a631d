import { spawnSync } from "node:child_process";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { log } from "#lib/platform/log.ts";

afterEach(() => vi.restoreAllMocks());

function spyOnWrites(): string[][] {
  const writes: string[][] = [];
  vi.spyOn(process.stdout, "write").mockImplementation((chunk) => {
    writes.push(
      String(chunk)
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line).message),
    );
    return true;
  });
  return writes;
}

// Guarantee: the log costs a busy server one write a turn. Mutation: write each line at once.
test("the lines of one turn go out together, in order", async () => {
  const writes = spyOnWrites();
  log.info("first");
  log.warn("second");
  await Promise.resolve();
  log.info("third");
  expect(writes).toEqual([]);
  await nextTurn();
  log.info("fourth");
  await nextTurn();
  expect(writes).toEqual([["first", "second", "third"], ["fourth"]]);
});

// Guarantee: what explains a crash is out before it, after the lines that led to it. Mutation: let errors wait for the turn's end.
test("an error is written before the call returns, behind what waited", async () => {
  const writes = spyOnWrites();
  log.info("before");
  log.error("failed");
  log.info("after");
  expect(writes).toEqual([["before", "failed"]]);
  await nextTurn();
  expect(writes).toEqual([["before", "failed"], ["after"]]);
});

// Guarantee: no line is lost at the end of a process. Mutation: drop the listener for exit, or the one for uncaught errors.
for (const [end, lines] of [
  ["return", 50],
  ["exit", 50],
  ["throw", 50],
  ["abort", 50],
  ["kill", 51],
] as const) {
  test(`a process that ends by ${end} right after logging has printed every line`, () => {
    const { stdout } = spawnSync(process.execPath, ["tests/support/log-in-child.ts", end], { encoding: "utf8" });
    const printed = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).line);
    expect(printed).toEqual(Array.from({ length: lines }, (_, index) => index + 1));
  });
}
