import { expect, test } from "vitest";
import { rememberRecent } from "#lib/platform/remember-recent.ts";

function counted(max: number) {
  const computed: string[] = [];
  const value = rememberRecent(max, (text) => {
    computed.push(text);
    return text.length > 3;
  });
  return { computed, value };
}

test("a value is computed once while it is asked for, also one that is false", () => {
  const { computed, value } = counted(10);
  for (let round = 0; round < 5; round++) expect([value("bot"), value("browser")]).toEqual([false, true]);
  expect(computed).toEqual(["bot", "browser"]);
});

// Guarantee: made-up texts neither fill the memory nor push out what is used all the time. Mutation: do not ask the older half.
test("a flood of other texts forgets what nobody asks for, and keeps what somebody does", () => {
  const { computed, value } = counted(10);
  value("once");
  for (let index = 0; index < 100; index++) {
    value(`flood-${index}`);
    value("often");
  }
  value("once");
  expect(computed.filter((text) => text === "often")).toHaveLength(1);
  expect(computed.filter((text) => text === "once")).toHaveLength(2);
});
