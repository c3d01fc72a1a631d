import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { env } from "#lib/env.ts";
import { firstPollSeconds } from "#lib/oci/limits.ts";
import { log } from "#lib/platform/log.ts";
import { googleAds } from "#lib/providers/google-ads-platform.ts";
import type { Provider, ProviderConnection, VerdictAnswer } from "#lib/providers/port.ts";
import { siteUuidShape } from "#lib/site.ts";
import { openConnection, withoutSecrets } from "./connection.ts";
import { storable } from "./pipeline.ts";
import { sideBySide, startBudget } from "./run-budget.ts";

const duePolls = z.array(
  z.object({
    siteUuid: siteUuidShape,
    providerKey: z.string(),
    requestId: z.string(),
    rowCount: z.number(),
    sentAt: z.string(),
    pollCount: z.number(),
    isSameAccount: z.boolean(),
  }),
);
type DuePoll = z.output<typeof duePolls>[number];

const pollsMax = 200;
const sideBySideMax = 5;
/** Longer than a run: a poll whose worker died is due again after it. */
const leaseSeconds = 600;
const pauseMaxMs = 6 * 3_600_000;

interface PollOptions {
  deadlineMs: number;
  provider?: Provider;
  now?: () => Date;
}

/** Asks Google for the verdicts on accepted requests. A poll that fails does not stop the others and is repeated later. */
export async function pollVerdicts({ deadlineMs, provider = googleAds(), now = () => new Date() }: PollOptions) {
  const budget = startBudget(deadlineMs);
  const polls = await callRpc("claim_verdict_polls", { p_limit: pollsMax, p_lease_seconds: leaseSeconds }, duePolls);
  const connections = new Map<string, Promise<ProviderConnection | null>>();
  const outcomes = await sideBySide(polls, {
    max: sideBySideMax,
    work: async (poll) => {
      if (!budget.mayClaim()) return "later" as const;
      const connection = await once(connections, poll, () => openConnection(poll.siteUuid, poll.providerKey));
      const answer = await readAnswer(poll, { provider, connection, signal: budget.uploadSignal, now });
      await record(poll, answer, now());
      return answer.status === "PROCESSING" ? ("later" as const) : ("decided" as const);
    },
    onError: (poll, error) => {
      log.error("verdict not polled", { siteUuid: poll.siteUuid, providerRequest: poll.requestId, error });
      return "failed" as const;
    },
  });
  const count = (outcome: string) => outcomes.filter((each) => each === outcome).length;
  return { ok: true, polled: polls.length, decided: count("decided"), later: count("later"), failed: count("failed") };
}

/** A site's credentials are read and opened once a run. */
function once<T>(known: Map<string, Promise<T>>, { siteUuid, providerKey }: DuePoll, open: () => Promise<T>): Promise<T> {
  const key = `${siteUuid}:${providerKey}`;
  const opened = known.get(key) ?? open();
  known.set(key, opened);
  return opened;
}

interface Reading {
  provider: Provider;
  connection: ProviderConnection | null;
  signal: AbortSignal;
  now(): Date;
}

const stillProcessing: VerdictAnswer = { status: "PROCESSING", verdicts: [], rest: null };
const neverDecided: VerdictAnswer = { status: "LOST", verdicts: [], rest: "UNKNOWN" };

/** Google's answer. After a week without a decision the rows get the verdict UNKNOWN. */
async function readAnswer(poll: DuePoll, { provider, connection, signal, now }: Reading): Promise<VerdictAnswer> {
  const read = connection ? await provider.readVerdicts(poll, connection, signal).catch(tryLater(poll)) : stillProcessing;
  // This account may not see another account's requests. That does not mean that it may not send, and the site may return to the other account.
  const answer = !poll.isSameAccount && (read.block || read.status === "LOST") ? stillProcessing : read;
  if (answer.block && connection) await blockProvider(poll, connection, answer.block);
  const ageMs = now().getTime() - Date.parse(poll.sentAt);
  const isOver = ageMs >= env().VERDICT_UNKNOWN_AFTER_HOURS * 3_600_000;
  return answer.status === "PROCESSING" && isOver ? neverDecided : answer;
}

const tryLater = (poll: DuePoll) => (error: unknown) => {
  log.warn("verdict not read", { siteUuid: poll.siteUuid, providerRequest: poll.requestId, error });
  return stillProcessing;
};

/** As after an upload: nothing more is sent with credentials that Google refuses. */
function blockProvider(
  { siteUuid, providerKey }: DuePoll,
  connection: ProviderConnection,
  { code, message }: { code: string; message: string },
) {
  return callRpc(
    "block_provider",
    {
      p_site_id: siteUuid,
      p_provider_key: providerKey,
      p_code: code,
      p_message: withoutSecrets(message, connection),
      p_credentials_version: connection.version,
    },
    z.unknown(),
  );
}

function record({ siteUuid, requestId, pollCount }: DuePoll, { block: _block, ...answer }: VerdictAnswer, now: Date) {
  const nextPollAt = new Date(now.getTime() + pauseMs(pollCount)).toISOString();
  return callRpc(
    "record_verdicts",
    { p_site_id: siteUuid, p_request_id: requestId, p_answer: storable({ ...answer, nextPollAt }) },
    z.unknown(),
  );
}

/** Twice as long after each answer without a verdict, at most six hours. */
function pauseMs(pollCount: number): number {
  const firstMs = Math.max(firstPollSeconds(), 1) * 1000;
  return Math.min(firstMs * 2 ** Math.min(pollCount + 1, 20), pauseMaxMs);
}
