import { z } from "zod";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { onceAnswer, type RequestIdentity, serveOnce } from "#lib/http/answer-once.ts";
import { type SiteId, storedSiteId } from "#lib/site.ts";
import { conversionNamesIn } from "./conversion-names.ts";
import type { ceilingsInput } from "./site-ceilings.ts";
import type { deliveryInput } from "./site-delivery.ts";
import type { apiKeyInput, newSite, siteInput, sitePrivacy, siteUpdate } from "./site-fields.ts";
import { type KeyScope, keyScopes, type SiteRole } from "./site-roles.ts";

/** What owners and invited people change. Each is one SQL function, which checks the role and decides. */

const done = z.object({ ok: z.literal(true) });
/** Of a change of the team: with a key the stored bytes, without one the plain answer. */
const doneOnce = z.union([onceAnswer.transform(serveOnce), done]);
const joined = z.object({ siteId: storedSiteId });

type SiteValues = z.output<typeof siteInput>;

const siteArguments = (site: SiteValues) => ({
  p_name: site.name,
  p_domains: site.domains,
  p_currency: site.currency,
  p_timezone: site.timezone,
  p_locale: site.locale,
});

/** Conversions of a new site have readable names in its language; sites from before keep theirs. */
export const createSite = (db: SessionClient, { consentMode, defaultAovCents, ...site }: z.output<typeof newSite>) =>
  callAsUser(
    db,
    "create_site",
    {
      ...siteArguments(site),
      p_consent_mode: consentMode,
      p_settings: { defaultAovCents, conversionNames: conversionNamesIn(site.locale) },
    },
    joined,
  );

export const addSiteDomain = (db: SessionClient, siteId: SiteId, domain: string) =>
  callAsUser(db, "add_site_domain", { p_public_id: siteId, p_host: domain }, done);

export const updateSite = (db: SessionClient, siteId: SiteId, { defaultAovCents, ...site }: z.output<typeof siteUpdate>) =>
  callAsUser(
    db,
    "update_site",
    { p_public_id: siteId, ...siteArguments(site), ...(defaultAovCents !== undefined && { p_default_aov_cents: defaultAovCents }) },
    done,
  );

export const setSiteArchived = (db: SessionClient, siteId: SiteId, archived: boolean) =>
  callAsUser(db, "set_site_archived", { p_public_id: siteId, p_archived: archived }, done);

export const setSitePrivacy = (db: SessionClient, siteId: SiteId, privacy: z.output<typeof sitePrivacy>) =>
  callAsUser(
    db,
    "set_site_privacy",
    { p_public_id: siteId, p_consent_mode: privacy.consentMode, p_respects_privacy_signal: privacy.respectsPrivacySignal },
    done,
  );

export const setSiteDelivery = (db: SessionClient, siteId: SiteId, settings: z.output<typeof deliveryInput>) =>
  callAsUser(db, "set_site_delivery", { p_public_id: siteId, p_settings: settings }, done);

export const setSiteCeilings = (db: SessionClient, siteId: SiteId, { minuteMax, dayMax }: z.output<typeof ceilingsInput>) =>
  callAsUser(
    db,
    "set_site_ceilings",
    { p_public_id: siteId, ...(minuteMax !== null && { p_minute_max: minuteMax }), ...(dayMax !== null && { p_day_max: dayMax }) },
    done,
  );

export const replayFailedEvents = (db: SessionClient, siteId: SiteId, ids: string[]) =>
  callAsUser(db, "replay_failed_events", { p_public_id: siteId, p_ids: ids }, z.object({ replayed: z.number() }));

interface TeamChange {
  siteId: SiteId;
  once: RequestIdentity;
}

export const changeMemberRole = (db: SessionClient, { siteId, userId, role, once }: TeamChange & { userId: string; role: SiteRole }) =>
  callAsUser(db, "change_member_role", { p_public_id: siteId, p_user_id: userId, p_role: role, ...once }, doneOnce);

export const removeMember = (db: SessionClient, { siteId, userId, once }: TeamChange & { userId: string }) =>
  callAsUser(db, "remove_member", { p_public_id: siteId, p_user_id: userId, ...once }, doneOnce);

export const withdrawInvitation = (db: SessionClient, { siteId, invitationId, once }: TeamChange & { invitationId: string }) =>
  callAsUser(db, "withdraw_invitation", { p_public_id: siteId, p_invitation_id: invitationId, ...once }, doneOnce);

export const acceptInvitation = (db: SessionClient, invitationId: string) =>
  callAsUser(db, "accept_invitation", { p_invitation_id: invitationId }, joined);

export const declineInvitation = (db: SessionClient, invitationId: string) =>
  callAsUser(db, "decline_invitation", { p_invitation_id: invitationId }, done);

export const createApiKey = (db: SessionClient, siteId: SiteId, { name, scopes }: z.output<typeof apiKeyInput>) =>
  callAsUser(
    db,
    "create_site_api_key",
    { p_public_id: siteId, p_name: name, p_scopes: scopes },
    z.object({ id: z.string(), key: z.string(), prefix: z.string() }),
  );

export const revokeApiKey = (db: SessionClient, siteId: SiteId, keyId: string) =>
  callAsUser(db, "revoke_site_api_key", { p_public_id: siteId, p_key_id: keyId }, done);

export const narrowApiKey = (db: SessionClient, siteId: SiteId, { keyId, scopes }: { keyId: string; scopes: KeyScope[] }) =>
  callAsUser(
    db,
    "narrow_site_api_key",
    { p_public_id: siteId, p_key_id: keyId, p_scopes: scopes },
    z.object({ scopes: z.array(z.enum(keyScopes)) }),
  );
