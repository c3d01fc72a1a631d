import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { localDir } from "../process/state-dir.ts";
import type { Stack } from "../stack.ts";
import type { DemoSeed } from "./seed-demo.ts";

/** What other tools can read about a running demo. */
export interface DemoFile extends DemoSeed {
  pid: number;
  baseUrl: string;
  databaseUrl: string;
  adminDatabaseUrl: string;
  supabaseUrl: string;
  supabasePublishableKey: string;
  /** redis:// of a real server; null with the in-process fallback. */
  redisUrl: string | null;
  upstashRestUrl: string;
  upstashRestToken: string;
  qstashUrl: string;
  /** The simulated Google: its APIs, and /__sim for whoever wants to look inside. */
  googleUrl: string;
  mailUrl: string;
  /** The first page, which tells the story; the dev server and the tests have none. */
  storyUrl?: string;
  cronSecret: string;
  /** Hashes callers' numbers, among others: privacy:erase finds a person by them. */
  vaultKey: string;
}

const demoFilePath = () => join(localDir(), "demo.json");

export function describeDemo(stack: Stack, seeded: DemoSeed): DemoFile {
  return {
    pid: process.pid,
    baseUrl: stack.siteUrl,
    databaseUrl: stack.databaseUrl,
    adminDatabaseUrl: stack.adminUrl,
    supabaseUrl: stack.supabaseUrl,
    supabasePublishableKey: stack.publishableKey,
    redisUrl: stack.redis.url,
    upstashRestUrl: stack.upstash.url,
    upstashRestToken: stack.upstash.token,
    qstashUrl: stack.qstash.url,
    googleUrl: stack.google.url,
    mailUrl: stack.mailUrl,
    cronSecret: stack.cronSecret,
    vaultKey: stack.vaultKey,
    ...seeded,
  };
}

/** `.local/demo.json` exists while a demo runs. It holds secrets, so only its owner may read it. */
export function writeDemoFile(demo: DemoFile): void {
  removeDemoFile();
  writeFileSync(demoFilePath(), `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600 });
}

export function readDemoFile(): DemoFile | undefined {
  return existsSync(demoFilePath()) ? JSON.parse(readFileSync(demoFilePath(), "utf8")) : undefined;
}

export function removeDemoFile(): void {
  rmSync(demoFilePath(), { force: true });
}
