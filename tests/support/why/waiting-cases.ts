import { callAs } from "#tests/fixtures/act-as.ts";
import { actionOf, connectApi, defaultNames } from "#tests/fixtures/connections.ts";
import { claimForScript, claimForWorker, minutesLater, sealLead } from "#tests/fixtures/queue.ts";
import { service } from "#tests/fixtures/service.ts";
import { deliverySettings, pauseSending, switchDelivery } from "#tests/fixtures/site.ts";
import { openCircuit } from "#tests/support/circuit.ts";

import { api, blocked, type Case, day, db, deferred, failure, reported, script, send, without } from "./why-scene.ts";

/** Sales that Google has not been asked about yet, and why. */
export const waitingCases: Record<string, Case> = {
  "a lead without a click": { link: "CLICK", code: "NO_CLICK_ID", key: "noClick", make: () => without({ gclid: null }) },
  "a sale from elsewhere that matches nobody": { link: "CLICK", code: "NO_MATCH", key: "noMatch", make: reported },
  "a visitor who did not agree": {
    link: "CONSENT",
    code: "NO_CONSENT",
    key: "noConsent",
    make: () => without({ marketingConsent: false, marketingDefault: false }),
  },
  "a click that was too old when it was sealed": {
    link: "CLICK_AGE",
    code: "CLICK_EXPIRED",
    key: "clickExpired",
    make: () => without({}, minutesLater(91 * day)),
  },
  "a click that grew too old while it waited": {
    link: "CLICK_AGE",
    code: "CLICK_EXPIRED",
    key: "clickExpired",
    asks: 91 * day,
    make: async () => {
      const team = await script();
      return { team, ...(await sealLead(db.sql, team)) };
    },
  },
  "the undo window": {
    link: "WAITS",
    code: "UNDO_WINDOW",
    key: "undoWindow",
    make: async () => {
      const team = await script();
      await deliverySettings(db.sql, team, { sendDelayMinutes: 30, clickMinAgeHours: 0 });
      return { team, ...(await sealLead(db.sql, team)) };
    },
  },
  "a click that is too young": {
    link: "WAITS",
    code: "CLICK_TOO_YOUNG",
    key: "clickTooYoung",
    make: async () => {
      const team = await script();
      await deliverySettings(db.sql, team, { sendDelayMinutes: 10, clickMinAgeHours: 6 });
      return { team, ...(await sealLead(db.sql, team)) };
    },
  },
  "a script that has not run": {
    link: "WAITS",
    code: "SCRIPT_RUN",
    key: "scriptRun",
    make: async () => {
      const team = await script();
      return { team, ...(await sealLead(db.sql, team)) };
    },
  },
  "a worker that has not run": {
    link: "WAITS",
    code: "DUE",
    key: "due",
    make: async () => {
      const team = await api();
      return { team, ...(await sealLead(db.sql, team)) };
    },
  },
  "a site that is not connected": {
    link: "CONNECTION",
    code: "NOT_CONNECTED",
    key: "notConnected",
    make: async () => {
      const team = await api();
      const row = await sealLead(db.sql, team);
      await callAs(db.sql, team.owner, (tx) => tx`select public.disconnect_provider(${team.siteId})`);
      return { team, ...row };
    },
  },
  "access that Google withdrew, for what waits": {
    link: "BLOCKED",
    code: "invalid_grant",
    key: "blocked",
    make: async () => {
      const { team } = await blocked();
      return { team, ...(await sealLead(db.sql, team)) };
    },
  },
  "access that Google withdrew, for what failed by it": { link: "BLOCKED", code: "invalid_grant", key: "blocked", make: () => blocked() },
  "no conversion action for the name": {
    link: "ACTION",
    code: "MISSING",
    key: "actionMissing",
    make: async () => {
      const team = await api();
      await connectApi(db.sql, team, { actions: [] });
      return { team, ...(await sealLead(db.sql, team)) };
    },
  },
  "a conversion action of another name than the script sent": {
    link: "ACTION",
    code: "NAME_DIFFERS",
    key: "actionNamed",
    make: async () => {
      const team = await script();
      const row = await sealLead(db.sql, team);
      await claimForScript(db.sql, team, [row.id], minutesLater(1));
      await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(20));
      const actions = [{ conversionName: defaultNames.seal, action: actionOf(1), googleName: "Sales by API" }];
      await connectApi(db.sql, team, { actions });
      await switchDelivery(db.sql, team, "api");
      return { team, ...row };
    },
  },
  "an account that never answered, and that the site has left": {
    link: "ACTION",
    code: "OTHER_ACCOUNT",
    key: "actionElsewhere",
    make: async () => {
      const team = await api();
      const row = await sealLead(db.sql, team);
      await claimForWorker(db.sql, team, { at: minutesLater(1) });
      await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(20));
      const actions = [{ conversionName: defaultNames.seal, action: actionOf(1).replace("1234567890", "9999999999") }];
      await connectApi(db.sql, team, { actions });
      return { team, ...row };
    },
  },
  "a conversion action that Google refuses": {
    link: "ACTION",
    code: "NO_CONVERSION_ACTION_FOUND",
    key: "actionBlocked",
    make: async () => {
      const team = await api();
      await sealLead(db.sql, team);
      const blockActions = [{ conversionName: defaultNames.seal, code: "NO_CONVERSION_ACTION_FOUND", message: "none" }];
      await send(team, failure("NO_CONVERSION_ACTION_FOUND"), 1, { outcome: "definite", blockActions });
      return { team, ...(await sealLead(db.sql, team)) };
    },
  },
  "an open circuit": {
    link: "CIRCUIT",
    code: "OPEN",
    key: "circuitOpen",
    make: async () => {
      const team = await api();
      const row = await sealLead(db.sql, team);
      await openCircuit(db.sql, team, minutesLater(1));
      return { team, ...row };
    },
  },
  "an owner's pause": {
    link: "WAITS",
    code: "SENDING_PAUSED",
    key: "sendingPaused",
    make: async () => {
      const team = await api();
      const row = await sealLead(db.sql, team);
      await pauseSending(db.sql, team, minutesLater(10 * day), minutesLater(1));
      return { team, ...row };
    },
  },
  // Guarantee: a wait of hours is not shown as "goes within minutes".
  "a wait that Google asked the whole site for": {
    link: "WAITS",
    code: "QUOTA",
    key: "quota",
    make: async () => {
      const team = await api();
      await sealLead(db.sql, team);
      const quotaUntil = minutesLater(360).toISOString();
      const wait = { outcome: "RETRY", category: "RATE_LIMIT", code: "RESOURCE_EXHAUSTED", free: true, retryAt: quotaUntil } as const;
      await send(team, wait, 1, { outcome: "none", quotaUntil });
      return { team, ...(await sealLead(db.sql, team)) };
    },
  },
  "a worker that was full": {
    link: "WAITS",
    code: "CONCURRENCY_LIMIT",
    key: "busy",
    make: async () => {
      const team = await api();
      const row = await sealLead(db.sql, team);
      await deferred(team, "CONCURRENCY_LIMIT");
      return { team, ...row };
    },
  },
  // Guarantee: a deferral says how long it waits, never why; the reason is what the last real attempt met.
  "a try that did not work, deferred since": {
    link: "RETRIES",
    code: "UNAVAILABLE",
    key: "retries",
    asks: 100,
    make: async () => {
      const team = await api();
      const row = await sealLead(db.sql, team);
      await send(team, { outcome: "RETRY", code: "UNAVAILABLE", category: "TRANSIENT", message: "503" });
      await deferred(team, "CONCURRENCY_LIMIT", 90);
      return { team, ...row };
    },
  },
  // Guarantee: what nobody but the server's host can fix is not hidden behind an error of Google's.
  "a server without its vault key, after a try that did not work": {
    link: "WAITS",
    code: "VAULT_KEY_MISSING",
    key: "serverKey",
    asks: 100,
    make: async () => {
      const team = await api();
      const row = await sealLead(db.sql, team);
      await send(team, { outcome: "RETRY", code: "UNAVAILABLE", category: "TRANSIENT", message: "503" });
      await deferred(team, "VAULT_KEY_MISSING", 90);
      return { team, ...row };
    },
  },
};
