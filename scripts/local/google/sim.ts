import { randomBytes } from "node:crypto";
import { demoAccount, demoClient } from "./accounts.ts";
import type { Settings } from "./sim-shapes.ts";
import { Store } from "./store.ts";

/** What every part of the simulator works with. */
export interface Sim {
  store: Store;
  /** The virtual clock: real time, and what it was set ahead by. */
  now(): number;
  settings(): Settings;
}

export interface SimOptions {
  /** Where the journal lies; without it nothing outlives the process. */
  stateDir?: string | undefined;
  clock?: (() => number) | undefined;
  settings?: Partial<Settings> | undefined;
}

const googlesOwn: Settings = { processingSeconds: 30 * 60, clickMinAgeSeconds: 6 * 3600, tokenSeconds: 3599, callMs: 0 };

export function openSim({ stateDir, clock = Date.now, settings = {} }: SimOptions): Sim {
  const store = new Store(stateDir);
  const sim: Sim = {
    store,
    now: () => clock() + (store.get("clock", "") ?? 0),
    settings: () => store.get("settings", "") ?? googlesOwn,
  };
  store.put("settings", "", { ...sim.settings(), ...settings });
  if (store.entries("accounts").length === 0) {
    const account = demoAccount();
    store.put("accounts", account.customerId, account);
    store.put("clients", demoClient.clientId, demoClient);
  }
  store.commit();
  return sim;
}

export function newRequestId(): string {
  return randomBytes(16).toString("base64url");
}
