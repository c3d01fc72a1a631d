import { randomUUID } from "node:crypto";
import { claimForScript, claimForWorker, minutesLater, sealLead } from "#tests/fixtures/queue.ts";
import { service } from "#tests/fixtures/service.ts";

import { accepted, api, type Case, cancel, day, db, failure, rejected, script, send, taken } from "./why-scene.ts";

/** Sales that were sent to Google, or were cancelled, and their outcome. */
export const sentCases: Record<string, Case> = {
  "an attempt without an answer yet": {
    link: "IN_FLIGHT",
    code: null,
    key: "inFlight",
    make: async () => {
      const team = await api();
      const row = await sealLead(db.sql, team);
      await claimForWorker(db.sql, team, { at: minutesLater(1) });
      return { team, ...row };
    },
  },
  "an attempt that never got an answer": {
    link: "IN_FLIGHT",
    code: "STUCK",
    key: "stuck",
    asks: 30,
    make: async () => {
      const team = await api();
      const row = await sealLead(db.sql, team);
      await claimForWorker(db.sql, team, { at: minutesLater(1) });
      return { team, ...row };
    },
  },
  "a failure": {
    link: "FAILED",
    code: "UNPARSEABLE_GCLID",
    key: "failed",
    make: async () => {
      const team = await api();
      const row = await sealLead(db.sql, team);
      await send(team, failure("UNPARSEABLE_GCLID"), 1, { outcome: "definite" });
      return { team, ...row };
    },
  },
  "a verdict that is still to come": { link: "VERDICT", code: "NO_VERDICT_YET", key: "verdictDue", make: () => taken() },
  "a rejection": { link: "REJECTED", code: "CLICK_NOT_FOUND", key: "rejected", asks: 50, make: () => taken(rejected("CLICK_NOT_FOUND")) },
  "a rejection that Google wants later": {
    link: "WAITS",
    code: "GOOGLE_ASKED",
    key: "googleAsked",
    asks: 50,
    make: () =>
      taken({
        status: "PARTIAL_SUCCESS",
        verdicts: [{ index: 0, verdict: "REJECTED", reason: "TOO_RECENT_EVENT", retryable: true }],
      }),
  },
  "an answer that Google lost": { link: "UNKNOWN", code: null, key: "unknown", asks: 50, make: () => taken({ status: "LOST" }) },
  "a duplicate": {
    link: "DUPLICATE",
    code: null,
    key: "duplicate",
    asks: 50,
    make: () => taken({ status: "PARTIAL_SUCCESS", verdicts: [{ index: 0, verdict: "DUPLICATE" }] }),
  },
  "a conversion that counts": {
    link: "COUNTED",
    code: null,
    key: "counted",
    asks: 50,
    make: () => taken({ status: "SUCCESS", rest: "CONFIRMED" }),
  },
  "what a script handed over": {
    link: "NO_VERDICT",
    code: "script",
    key: "noVerdictScript",
    make: async () => {
      const team = await script();
      const row = await sealLead(db.sql, team);
      await claimForScript(db.sql, team, [row.id], minutesLater(1));
      await service(db.sql, "ack_offline_conversions", { p_site_id: team.siteUuid, p_ids: [row.id] }, minutesLater(2));
      return { team, ...row };
    },
  },
  "what the Ads API took": {
    link: "NO_VERDICT",
    code: "ads_api",
    key: "noVerdictAdsApi",
    make: async () => {
      const team = await api({ transport: "ads_api" });
      const row = await sealLead(db.sql, team);
      await send(team, accepted(randomUUID()), 1, { outcome: "success" });
      return { team, ...row };
    },
  },
  "a sale that was cancelled in time": {
    link: "CANCELLED",
    code: "NEVER_SENT",
    key: "cancelledNeverSent",
    make: async () => {
      const team = await api();
      const row = await sealLead(db.sql, team);
      await cancel(team, row.saleId, 1);
      return { team, ...row };
    },
  },
  "a cancelled sale that Google still counts": {
    link: "CANCELLED",
    code: "RETRACTING",
    key: "cancelledRetracting",
    asks: 60,
    make: async () => {
      const sold = await taken({ status: "SUCCESS", rest: "CONFIRMED" });
      await cancel(sold.team, sold.saleId, 55);
      return sold;
    },
  },
  "a cancelled sale that Google took back": {
    link: "CANCELLED",
    code: "RETRACTED",
    key: "cancelledRetracted",
    asks: 70,
    make: async () => {
      const sold = await taken({ status: "SUCCESS", rest: "CONFIRMED" });
      await cancel(sold.team, sold.saleId, 55);
      await send(sold.team, accepted(randomUUID()), 60, { outcome: "success" });
      return sold;
    },
  },
  "a cancelled sale that somebody must take back in Google Ads": {
    link: "CANCELLED",
    code: "BY_HAND",
    key: "cancelledByHand",
    asks: 70,
    make: async () => {
      const sold = await taken({ status: "SUCCESS", rest: "CONFIRMED" });
      await cancel(sold.team, sold.saleId, 55);
      await send(sold.team, { outcome: "RETRY", code: "CUSTOMER_NOT_ALLOWLISTED", category: "AUTH", byHand: "NO_ADS_API_ACCESS" }, 60, {
        outcome: "definite",
      });
      return sold;
    },
  },
  "a sale that was cancelled too late": {
    link: "CANCELLED",
    code: "TOO_LATE",
    key: "cancelledTooLate",
    asks: 55 * day,
    make: async () => {
      const sold = await taken({ status: "SUCCESS", rest: "CONFIRMED" });
      await cancel(sold.team, sold.saleId, 55 * day);
      return sold;
    },
  },
};
