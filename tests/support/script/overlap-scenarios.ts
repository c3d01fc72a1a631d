import { expect, test } from "vitest";
import { Held } from "./fault-proxy.ts";
import { ackPath, exportPath, failedPath, type OpenScriptServer, ScriptBench } from "./script-bench.ts";

interface Report {
  queueIds: string[];
  claims?: Record<string, string>;
}

/** What must hold when two runs of one account's script overlap: an hourly run and one that somebody starts by hand. */
export function describeScriptOverlap(openServer: OpenScriptServer): void {
  const bench = new ScriptBench(openServer);
  const notes = () => Object.keys(bench.account.properties).filter((key) => key.includes("UNACKED"));
  const acked = () => bench.sentTo(ackPath).map(({ body }) => (body as Report).queueIds); // our own script's
  const names = (ids: string[]) => (body: unknown) => (body as Report).queueIds.some((id) => ids.includes(id));

  test("every report carries the claims that came with the rows", async () => {
    const ids = await bench.server.enqueue(2);
    const handedOut: Record<string, unknown> = {};
    bench.tamper((row) => {
      handedOut[String(row.id)] = row.claim;
      return row;
    });
    await bench.account.runScript({ applyThrowsAt: [1] });
    await bench.server.recover();
    expect(Object.keys(handedOut).toSorted()).toEqual(ids.toSorted());
    expect(bench.sentTo(failedPath).map(({ body }) => (body as Report).claims)).toEqual([handedOut]);
    const more = await bench.server.enqueue(1);
    await bench.account.runScript();
    const [{ claims = {} } = {}] = bench.sentTo(ackPath).map(({ body }) => body as Report); // our own script's
    expect(claims).toMatchObject({ [String(more[0])]: handedOut[String(more[0])] });
  });

  // Guarantee: what one run handed to Google is not forgotten because another run came to its end meanwhile.
  // Mutations that break it: delete every note in forgetNotes; take over notes that are busy.
  test("a run neither deletes nor reports the notes of a run that is still at work", async () => {
    const first = await bench.server.enqueue(3);
    const held = new Held();
    bench.faultAt(ackPath, { hold: held, drops: true }, { times: 5, when: names(first) });
    const slow = bench.account.runScript();
    await held.reached;
    const written = notes();
    expect(written).toHaveLength(1);

    const second = await bench.server.enqueue(2);
    expect((await bench.account.runScript()).error).toBe(null);
    expect(await bench.statuses(second)).toEqual(["COMPLETED"]);
    expect(notes()).toEqual(written);
    expect(acked().flat().toSorted()).toEqual([...first, ...second].toSorted());

    held.letGo();
    expect((await slow).error).toContain("gave up on /api/oci/ack");
    await bench.server.recover();
    expect(await bench.account.runScript()).toMatchObject({ error: null, files: [] });
    expect([bench.booked, bench.account.duplicates]).toEqual([5, []]);
    expect(await bench.statuses([...first, ...second])).toEqual(["COMPLETED"]);
    expect(notes()).toEqual([]);
  });

  // Guarantee: a run that Google ended leaves a note that is used, as soon as it is certain that the run is over.
  test("the note of a run that Google ended is left for half an hour, then acknowledged", async () => {
    const ids = await bench.server.enqueue(250);
    expect((await bench.account.runScript({ endsAtFetch: ackPath })).isEnded).toBe(false);
    expect(notes()).toHaveLength(3);
    await bench.account.runScript({ startsAheadMinutes: 30 });
    expect([notes().length, acked()]).toEqual([3, []]);
    await bench.server.recover();
    expect(await bench.account.runScript({ startsAheadMinutes: 32 })).toMatchObject({ error: null, files: [] });
    expect([notes(), acked().flat().toSorted()]).toEqual([[], ids.toSorted()]);
    expect(await bench.statuses(ids)).toEqual(["COMPLETED"]);
  });

  // Guarantee: news of an old failure never ends a claim under which another run is uploading.
  // Mutation that breaks it: send no claims (the fake server), or drop STALE_CLAIM from fail_offline_conversions (the real one).
  test("a failure that is told late does not end the claim of the run that came after", async () => {
    const ids = await bench.server.enqueue(2);
    const [failing, uploading] = [new Held(), new Held()];
    bench.faultAt(failedPath, { hold: failing }, { times: 1 });
    bench.faultAt(ackPath, { hold: uploading }, { times: 1 });
    const older = bench.account.runScript({ applyThrowsAt: [1] });
    await failing.reached;
    await bench.server.recover();
    const newer = bench.account.runScript();
    await uploading.reached;

    failing.letGo();
    const { error, logs } = await older;
    expect(error).toContain("2 failed");
    expect(logs.join("\n")).toContain("STALE_CLAIM");
    expect(await bench.statuses(ids)).toEqual(["PROCESSING"]);

    uploading.letGo();
    expect((await newer).error).toBe(null);
    expect(await bench.statuses(ids)).toEqual(["COMPLETED"]);
    expect([bench.booked, bench.sentTo(exportPath).length]).toEqual([2, 2]);
  });
}
