import { expect, test } from "#tests/support/e2e-test.ts";

/** At least, and at most where other work disturbs: the fastest of more can only come closer to what a request takes. */
const rounds = { min: 15, max: 60 };
const honest = "Mozilla/5.0 (X11; Linux x86_64) Chrome/142.0.0.0";
/** One word, as long as it is: what the framework's own pattern for robots is slowest at. */
const hostile = (size: number) => "a".repeat(size);

const requests: [name: string, path: string, init: RequestInit, status: number][] = [
  ["a page", "/sign-in", {}, 200],
  ["/api/health", "/api/health", {}, 200],
  ["/api/sync", "/api/sync", { method: "POST", body: "{}" }, 400],
];

// Guarantee: nobody makes others wait with a header. Mutation: start Next without scripts/serve/cut-user-agent.mjs; 7.5 kB then take 14, 41 and 56 times as long.
for (const [name, path, init, status] of requests) {
  test(`a User-Agent of 7.5 or 15 kB costs ${name} no more than a short one`, async ({ baseURL }) => {
    const fastestMs = { short: Infinity, long: Infinity, longest: Infinity };
    const agents = { short: honest, long: hostile(7_500), longest: hostile(15_000) };
    const ratios = () => ({ long: fastestMs.long / fastestMs.short, longest: fastestMs.longest / fastestMs.short });
    const isEven = () => Math.max(...Object.values(ratios())) < 2;
    for (let round = 0; round < rounds.min || (round < rounds.max && !isEven()); round++)
      for (const size of ["short", "long", "longest"] as const) {
        const startedAt = performance.now();
        const response = await fetch(new URL(path, baseURL), { ...init, headers: { "user-agent": agents[size] } });
        await response.arrayBuffer();
        fastestMs[size] = Math.min(fastestMs[size], performance.now() - startedAt);
        expect(response.status).toBe(status);
      }
    // The fastest of many, because other work on the machine only ever adds to a request.
    const { long, longest } = ratios();
    test.info().annotations.push({ type: "ratio to a short User-Agent", description: JSON.stringify({ long, longest }) });
    expect(long).toBeLessThan(2);
    expect(longest).toBeLessThan(2);
  });
}
