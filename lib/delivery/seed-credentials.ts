import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { env } from "#lib/env.ts";
import { cron } from "#lib/guards/machine.ts";
import type { Guard } from "#lib/http/handler.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { credentialsSchema } from "#lib/providers/credentials.ts";
import { siteIdShape, siteUuidShape } from "#lib/site.ts";
import { sealedConnection } from "./connect.ts";
import { siteUuidOf } from "./site-connection.ts";

export const seedInput = z.object({
  /** The database's own id, as the runbook has it, or the public one. */
  site_id: z.union([
    siteUuidShape.transform((siteUuid) => ({ siteUuid })),
    z
      .string()
      .regex(/^[0-9a-f]{32}$/)
      .pipe(siteIdShape)
      .transform((siteId) => ({ siteId })),
  ]),
  provider_key: z.literal("google_ads"),
  credentials: credentialsSchema,
});

/** The cron's secret, and never in production, whatever the request holds. */
export const stagingCron: Guard<null> = (context) => {
  const machine = cron(context);
  if (env().NODE_ENV === "production") {
    throw new AppError("FORBIDDEN", {
      detail: "Credentials are not seeded in production: an owner connects Google Ads on the site's page.",
    });
  }
  return machine;
};

/** For staging: stores credentials in the vault without a form and without a test. */
export async function seedCredentials({ site_id, credentials }: z.output<typeof seedInput>) {
  const siteUuid = "siteUuid" in site_id ? site_id.siteUuid : await siteUuidOf(site_id.siteId);
  const connection = { ...sealedConnection(siteUuid, credentials), sealAction: credentials.conversion_action_resource_name };
  const { version } = await callRpc(
    "seed_provider_credentials",
    { p_site_id: siteUuid, p_connection: connection },
    z.object({ version: z.number() }),
  );
  return { ok: true, version };
}
