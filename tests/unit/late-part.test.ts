import { expect, test, vi } from "vitest";
import { lateLoad } from "#components/ui/late-part.tsx";

const answered = () => new Promise((resolve) => setImmediate(resolve));

// Guarantee: a part whose code could not be loaded throws nothing into the page and is loaded by the next try.
// Mutation: keeping isLoading after a failure never asks again; not telling leaves the part away until something else draws the page.
test("a failed load is forgotten, the next one loads, and who waits is told once", async () => {
  const find = vi.fn<() => Promise<string>>().mockRejectedValueOnce(new Error("no connection")).mockResolvedValue("part");
  const failed = vi.fn();
  const { load, found, onFound } = lateLoad(find, failed);
  const tell = vi.fn();
  onFound(tell);
  load();
  await answered();
  expect([found(), tell.mock.calls.length]).toEqual([undefined, 0]);
  load();
  await answered();
  expect([found(), tell.mock.calls.length, failed.mock.calls.length]).toEqual(["part", 1, 1]);
});

test("what is loading or loaded is not asked for again", async () => {
  const find = vi.fn(async () => "part");
  const { load, onFound } = lateLoad(find);
  const left = vi.fn();
  onFound(left)();
  load();
  load();
  await answered();
  load();
  expect([find.mock.calls.length, left.mock.calls.length]).toEqual([1, 0]);
});
