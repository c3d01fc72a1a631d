import { randomUUID } from "node:crypto";
import type { WhyMessage } from "#lib/oci/queue/why-message.ts";
import type { WhyNotCounted } from "#lib/oci/queue/why-not-counted.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { claimForWorker, minutesLater, type Result, type Sealed, sealLead, settleClaim } from "#tests/fixtures/queue.ts";
import { createApiTeam, createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import { createKey } from "#tests/fixtures/site.ts";
import { createTeam, type Person, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

export let db: TestDatabase;
let founder: Person;

/** To be called once by each test file, which has this scene to itself. */
export async function openWhyScene(): Promise<void> {
  db = await createTestDatabase();
  founder = (await createTeam(db.sql, "first")).owner;
}

export const day = 24 * 60;
export const script = () => createQueueTeam(db.sql, `script-${randomUUID().slice(0, 8)}`, founder, "script");
export const api = (connection = {}) => createApiTeam(db.sql, `api-${randomUUID().slice(0, 8)}`, founder, connection);

export const why = (team: Team, saleId: string, at: Date, person: Pick<Person, "id"> = team.viewer): Promise<WhyNotCounted> =>
  callAs(db.sql, person, (tx) => tx`select public.why_not_counted(${team.siteId}, ${saleId})`, at);

/** Claims the site's rows at a minute and answers for them. */
export async function send(team: Team, answer: Result, minute = 1, batch?: Record<string, unknown>): Promise<void> {
  const at = minutesLater(minute);
  await settleClaim(db.sql, team, await claimForWorker(db.sql, team, { at }), answer, { at, ...(batch && { batch }) });
}
export const accepted = (requestId: string, more = {}): Result => ({ outcome: "COMPLETED", requestId, recordIndex: 0, ...more });
export const failure = (code: string, category = "VALIDATION"): Result => ({
  outcome: "FAILED",
  code,
  category,
  message: `${code} said Google`,
});

/** A conversion that Data Manager took; `answer` is what it says later. */
export async function taken(answer?: Record<string, unknown>): Promise<{ team: Team } & Sealed> {
  const team = await api();
  const row = await sealLead(db.sql, team);
  const requestId = randomUUID();
  await send(team, accepted(requestId), 1, { outcome: "success", firstPollSeconds: 1800 });
  if (answer)
    await service(
      db.sql,
      "record_verdicts",
      { p_site_id: team.siteUuid, p_request_id: requestId, p_answer: { verdicts: [], rest: null, ...answer } },
      minutesLater(40),
    );
  return { team, ...row };
}
export const rejected = (reason: string) => ({ status: "PARTIAL_SUCCESS", verdicts: [{ index: 0, verdict: "REJECTED", reason }] });

export const cancel = (team: Team, saleId: string, minute: number) =>
  change(db.sql, { team }, "cancel_sale", { id: saleId }, { at: minutesLater(minute) });

/** A sale that another system reports, without anything to match it by. */
export async function reported(): Promise<{ team: Team; saleId: string }> {
  const team = await script();
  const key = await createKey(db.sql, team, ["sales"]);
  const sale = { externalRef: randomUUID(), occurredAt: minutesLater(-1).toISOString(), amountCents: 5_000 };
  const [row] = await db.sql.begin(async (tx) => {
    await tx`select set_config('opsmantik.now', ${minutesLater(0).toISOString()}, true)`;
    return tx`select (public.record_external_sale(${key.id}, ${tx.json(sale)}, ${"0".repeat(64)}) ->> 'body')::jsonb ->> 'sale_id' as id`;
  });
  return { team, saleId: String(row?.id) };
}

/** Sealed without anything that Google could match. */
export async function without(step: Record<string, unknown>, at = minutesLater(0)): Promise<{ team: Team; saleId: string }> {
  const team = await script();
  const callId = await newLead(db.sql, team, { at: minutesLater(-5), ...step });
  const { body } = await change(db.sql, { team }, "seal_call", { id: callId, amountCents: 9_000 }, { at });
  return { team, saleId: String(body.saleId) };
}

export interface Case {
  link: WhyNotCounted["link"];
  code: string | null;
  key: WhyMessage["key"];
  /** The minute at which somebody asks. */
  asks?: number;
  make: () => Promise<{ team: Team; saleId: string }>;
}

/** A site whose credentials Google refused, with the sale that it failed by. */
export async function blocked() {
  const team = await api();
  const row = await sealLead(db.sql, team);
  await send(team, failure("invalid_grant", "AUTH"), 1, { outcome: "definite", block: { code: "invalid_grant", message: "revoked" } });
  return { team, ...row };
}

export const deferred = (team: Team, code: string, minute = 1) =>
  service(
    db.sql,
    "defer_offline_conversion_jobs",
    {
      p_site_id: team.siteUuid,
      p_provider_key: "google_ads",
      p_limit: 10,
      p_until: minutesLater(minute + 60),
      p_code: code,
      p_message: code,
    },
    minutesLater(minute),
  );
