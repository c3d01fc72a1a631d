/**
 * What `privacy:erase` and `privacy:export` share: who is asked for, and the door of whoever runs the installation. They connect as the
 * owner of the database, because the app's own role may not reach people without one of a site's owners.
 */
import { parseArgs } from "node:util";
import { Redis } from "@upstash/redis";
import postgres from "postgres";
import { z } from "zod";
import type { ViewStore } from "#lib/oci/handout/page-views.ts";
import { redisRequester } from "#lib/platform/redis.ts";
import { type AskedPerson, eraseStep, exportPage, type PersonDoor, personPreview } from "#lib/privacy/person.ts";
import { personKinds } from "#lib/privacy/person-kinds.ts";
import { siteIdShape } from "#lib/site.ts";
import { callerHashes, callerRing } from "#lib/vault/caller-hash.ts";
import { readDemoFile } from "./local/demo/demo-file.ts";

const text = { type: "string" } as const;
const options = { site: text, database: text, phone: text, email: text, click: text, visitor: text, out: text };
const flags = { help: { type: "boolean", short: "h" }, yes: { type: "boolean" } } as const;

interface Asked {
  person: AskedPerson;
  door: PersonDoor;
  store: ViewStore;
  isYes: boolean;
  out: string | undefined;
  end(): Promise<void>;
}

export function stop(message: string, code: 1 | 2): never {
  console.error(message);
  process.exit(code);
}

const connection = `The database is --database or DATABASE_URL as its owner, and Redis UPSTASH_REDIS_REST_URL with its token; without them the running demo.`;

/** Reads the command line. Exits 2 when it is asked wrongly. */
export function readAsked(usage: string): Asked {
  const help = `${usage}\n${connection}`;
  try {
    const { values } = parseArgs({ options: { ...options, ...flags } });
    if (values.help) {
      console.log(help);
      process.exit(0);
    }
    const [kind, ...others] = personKinds.filter((each) => values[each] !== undefined);
    if (!kind || others.length > 0) throw new Error("Name the person by one of --phone, --email, --click and --visitor.");
    const siteId = siteIdShape.parse(values.site ?? "");
    const demo = readDemoFile();
    const url = values.database ?? process.env.DATABASE_URL ?? demo?.adminDatabaseUrl;
    const redisUrl = process.env.UPSTASH_REDIS_REST_URL ?? demo?.upstashRestUrl;
    const token = process.env.UPSTASH_REDIS_REST_TOKEN ?? demo?.upstashRestToken;
    if (!url || !redisUrl || !token) throw new Error("Which database, and which Redis?");
    // The pooler of a deployment keeps no prepared statements.
    const sql = postgres(url, { max: 1, prepare: false, onnotice: () => {} });
    return {
      person: { kind, value: values[kind] ?? "" },
      door: operatorsDoor(sql, siteId),
      store: new Redis(redisRequester({ url: redisUrl, token })),
      isYes: values.yes ?? false,
      out: values.out,
      end: () => sql.end(),
    };
  } catch (error) {
    stop(`${error instanceof Error ? error.message : error}\n\n${help}`, 2);
  }
}

function operatorsDoor(sql: postgres.Sql, siteId: PersonDoor["siteId"]): PersonDoor {
  const first = async (rows: postgres.PendingQuery<postgres.Row[]>) => {
    const [row] = await rows;
    if (!row) throw new Error(`There is no site ${siteId}.`);
    return row.answer as unknown;
  };
  const ring = callerRing({
    OPSMANTIK_VAULT_KEY: process.env.OPSMANTIK_VAULT_KEY ?? readDemoFile()?.vaultKey,
    OPSMANTIK_VAULT_KEY_PREVIOUS: process.env.OPSMANTIK_VAULT_KEY_PREVIOUS,
  });
  return {
    siteId,
    async callerHashes(numbers) {
      if (numbers.length === 0) return [];
      if (!ring) throw new Error("Set OPSMANTIK_VAULT_KEY as the deployment has it: calls keep numbers as a hash that is made with it.");
      const phones = numbers.flatMap((number) => ("phone" in number ? [number.phone] : []));
      const read = await first(sql`select public.phone_hashes(${siteId}, ${phones}) as answer`);
      const given = numbers.flatMap((number) => ("hash" in number ? [number.hash] : []));
      return [...given, ...z.array(z.string().nullable()).parse(read)].flatMap((sha256) =>
        sha256 ? callerHashes(sha256, ring).map(({ hash }) => hash) : [],
      );
    },
    preview: async (person) =>
      personPreview.parse(
        await first(sql`select private.preview_person(s, ${sql.json(person)}) as answer from public.sites s where s.public_id = ${siteId}`),
      ),
    erase: async (person, receiptId) =>
      eraseStep.parse(
        await first(
          sql`select private.erase_step(s, ('system', null)::private.actor, ${sql.json(person)}, ${receiptId}) as answer
            from public.sites s where s.public_id = ${siteId}`,
        ),
      ),
    export: async (person, after) =>
      exportPage.parse(
        await first(
          sql`select private.export_page(s, ('system', null)::private.actor, ${sql.json(person)}, ${after}) as answer from public.sites s where s.public_id = ${siteId}`,
        ),
      ),
  };
}
