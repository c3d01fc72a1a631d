import type postgres from "postgres";
import { callSecretPlace } from "#lib/ingest/call-secret.ts";
import { credentialsPlace } from "#lib/providers/credentials.ts";
import type { SiteUuid } from "#lib/site.ts";
import type { SealedSecret, SecretPlace } from "#lib/vault/secret.ts";

export interface SealedRow extends SealedSecret {
  siteUuid: SiteUuid;
}

interface CredentialsRow extends SealedRow {
  providerKey: string;
  version: number;
}

interface Answer {
  answer?: unknown;
}

/** One place where sealed secrets are stored, as the rotation sees it. */
export interface SealedKind<Row extends SealedRow = SealedRow> {
  /** What is to be done when one does not open. */
  fix: string;
  list(sql: postgres.Sql, keyId: string, limit: number): Promise<Row[]>;
  place(row: Row): SecretPlace;
  /** False when it changed meanwhile: the next round reads it again. */
  reseal(sql: postgres.Sql, row: Row, next: SealedSecret): Promise<boolean>;
}

const rowsOf = <Row>([line]: readonly Answer[]) => (line?.answer ?? []) as Row[]; // as its SQL function builds them

const credentials: SealedKind<CredentialsRow> = {
  fix: "Those sites have to connect Google again.",
  list: async (sql, keyId, limit) => rowsOf(await sql<Answer[]>`select public.list_sealed_credentials(${keyId}, ${limit}) as answer`),
  place: ({ siteUuid, providerKey }) => credentialsPlace(siteUuid, providerKey),
  async reseal(sql, { siteUuid, providerKey, version }, { keyId, sealed }) {
    const [line] = await sql<Answer[]>`
      select public.reseal_credentials(${siteUuid}, ${providerKey}, ${version}, ${keyId}, ${sealed}) ->> 'resealed' as answer`;
    return line?.answer === "true";
  },
};

const callSecrets: SealedKind = {
  fix: "Those sites have to make a new call secret.",
  list: async (sql, keyId, limit) => rowsOf(await sql<Answer[]>`select public.list_sealed_call_secrets(${keyId}, ${limit}) as answer`),
  place: ({ siteUuid }) => callSecretPlace(siteUuid),
  async reseal(sql, row, { keyId, sealed }) {
    const [line] = await sql<Answer[]>`
      select public.reseal_call_secret(${row.siteUuid}, ${row.sealed}, ${keyId}, ${sealed}) ->> 'resealed' as answer`;
    return line?.answer === "true";
  },
};

/** Every kind: a new one is one entry here. Each entry hands only its own rows back to itself. */
export const sealedKinds = [credentials as unknown as SealedKind, callSecrets];
