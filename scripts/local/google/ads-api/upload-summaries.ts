/** The diagnostics of uploads, which count what every way of sending brought: API, script and Data Manager. */

import type { Sim } from "../sim.ts";
import type { Account, UploadTally } from "../sim-shapes.ts";

type Row = Record<string, unknown>;

export function clientSummaries(sim: Sim, { customerId }: Account): Row[] {
  const groups = Map.groupBy(own(sim, customerId), ({ client }) => client);
  return [...groups].map(([client, tallies]) => {
    const pending = client === "ADS_DATA_CONNECTOR" ? pendingEvents(sim, customerId).length : 0;
    const total = sum(tallies) + pending;
    return {
      resourceName: `customers/${customerId}/offlineConversionUploadClientSummaries/${client}`,
      client,
      ...counts(tallies, pending),
      successRate: total === 0 ? 0 : sum(tallies, "successful") / total,
      pendingRate: total === 0 ? 0 : pending / total,
      ...summaries(tallies),
    };
  });
}

export function actionSummaries(sim: Sim, { customerId, conversionActions }: Account): Row[] {
  const groups = Map.groupBy(own(sim, customerId), ({ client, actionId }) => `${actionId}~${client}`);
  return [...groups].map(([key, tallies]) => {
    const [actionId = "", client = ""] = key.split("~");
    const pending =
      client === "ADS_DATA_CONNECTOR" ? pendingEvents(sim, customerId).filter((event) => event.actionId === actionId).length : 0;
    return {
      resourceName: `customers/${customerId}/offlineConversionUploadConversionActionSummaries/${key}`,
      client,
      conversionActionId: actionId,
      conversionActionName: conversionActions.find(({ id }) => id === actionId)?.name ?? "",
      ...counts(tallies, pending),
      ...summaries(tallies),
    };
  });
}

function own({ store }: Sim, customerId: string): UploadTally[] {
  return store.values("tallies").filter((tally) => tally.customerId === customerId);
}

function pendingEvents({ store }: Sim, customerId: string) {
  const waiting = store.entries("waiting").map(([requestId]) => store.get("requests", requestId));
  return waiting.flatMap((request) => request?.events ?? []).filter((event) => event.customerId === customerId);
}

const sum = (tallies: UploadTally[], which?: "successful" | "failed") =>
  tallies.reduce(
    (total, { successful, failed }) => total + (which === "failed" ? 0 : successful) + (which === "successful" ? 0 : failed),
    0,
  );

function counts(tallies: UploadTally[], pending: number): Row {
  const total = sum(tallies) + pending;
  const failedShare = total === 0 ? 0 : sum(tallies, "failed") / total;
  const lastAt = Math.max(...tallies.map((tally) => tally.lastAt));
  return {
    status: failedShare === 0 ? "EXCELLENT" : failedShare < 0.2 ? "GOOD" : "NEEDS_ATTENTION",
    totalEventCount: String(total),
    successfulEventCount: String(sum(tallies, "successful")),
    pendingEventCount: String(pending),
    lastUploadDateTime: new Date(lastAt).toISOString().slice(0, 19).replace("T", " "),
  };
}

function summaries(tallies: UploadTally[]): Row {
  const by = (key: (tally: UploadTally) => string | null, name: "uploadDate" | "jobId") =>
    [...Map.groupBy(tallies, key)]
      .filter(([value]) => value !== null)
      .map(([value, group]) => ({
        [name]: value,
        successfulCount: String(sum(group, "successful")),
        failedCount: String(sum(group, "failed")),
        pendingCount: "0",
      }));
  return { dailySummaries: by(({ day }) => day, "uploadDate"), jobSummaries: by(({ jobId }) => jobId, "jobId"), alerts: alerts(tallies) };
}

/** Data Manager's reasons have no code of the Ads API, so they show only in the counts. */
function alerts(tallies: UploadTally[]): Row[] {
  const failures = new Map<string, number>();
  for (const { client, errors } of tallies) {
    if (client !== "GOOGLE_ADS_API") continue;
    for (const [code, count] of Object.entries(errors)) failures.set(code, (failures.get(code) ?? 0) + count);
  }
  return [...failures].flatMap(([code, count]) => {
    const field = errorFields.find(([, values]) => values.includes(code))?.[0];
    return field ? [{ error: { [field]: code }, errorPercentage: count / sum(tallies) }] : [];
  });
}

const errorFields: [string, string[]][] = [
  [
    "conversionUploadError",
    ["UNPARSEABLE_GCLID", "UNPARSEABLE_GBRAID", "UNPARSEABLE_WBRAID", "EXPIRED_EVENT", "TOO_RECENT_EVENT", "EVENT_NOT_FOUND"],
  ],
  [
    "conversionUploadError",
    ["CONVERSION_PRECEDES_EVENT", "INVALID_CUSTOMER_FOR_CLICK", "NO_CONVERSION_ACTION_FOUND", "CLICK_CONVERSION_ALREADY_EXISTS"],
  ],
  [
    "conversionAdjustmentUploadError",
    ["CONVERSION_NOT_FOUND", "CONVERSION_ALREADY_RETRACTED", "CONVERSION_EXPIRED", "RESTATEMENT_ALREADY_EXISTS"],
  ],
  ["notAllowlistedError", ["CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE"]],
];
