import { z } from "zod";
import { circuitStates } from "#lib/oci/queue-types.ts";
import { syncMethods } from "#lib/site.ts";

/** What the screens of a Google Ads connection send and get. Times are ISO 8601. No shape here holds a secret on its way out. */

const moment = z.string();
const transport = z.enum(["data_manager", "ads_api"]);
const block = z.object({ code: z.string(), message: z.string().nullable(), since: moment });

const actionChoice = z.object({
  conversionName: z.string(),
  action: z.string(),
  countingType: z.string().nullish(),
});

export const connectionState = z.object({
  syncMethod: z.enum(syncMethods),
  connected: z.boolean(),
  transport: transport.nullable(),
  account: z
    .object({
      customerId: z.string(),
      loginCustomerId: z.string().optional(),
      clientIdTail: z.string().optional(),
      hasDeveloperToken: z.boolean().optional(),
    })
    .nullable(),
  connectedAt: moment.nullable(),
  connectedBy: z.string().nullish(),
  testedAt: moment.nullable(),
  testError: z.object({ code: z.string(), message: z.string().nullable(), at: moment }).nullable(),
  actions: z.array(actionChoice.extend({ googleName: z.string().nullish(), testedAt: moment.nullable(), blocked: block.nullable() })),
  /** Names under which an API sends nothing, because no action is chosen for them. */
  missingActions: z.array(z.string()),
  health: z
    .object({
      state: z.enum(circuitStates),
      failureCount: z.number(),
      nextProbeAt: moment.nullable(),
      lastSuccessAt: moment.nullable(),
      lastFailureAt: moment.nullish(),
      lastFailureCode: z.string().nullish(),
      quotaUntil: moment.nullable(),
      blocked: block.nullable(),
    })
    .nullable(),
});

export type ConnectionState = z.output<typeof connectionState>;

const text = z.string("REQUIRED").trim().min(1, "REQUIRED").max(512, "TOO_LONG");

/** Without a refresh token, the consent that the owner gave Google a moment ago is used. */
export const connectInput = z.strictObject({
  customer_id: text,
  login_customer_id: text.optional(),
  developer_token: text.optional(),
  client_id: text.optional(),
  client_secret: text.optional(),
  refresh_token: text.optional(),
  conversion_action_resource_name: text,
  transport: transport.optional(),
});
export type ConnectInput = z.output<typeof connectInput>;

/** What is needed to ask Google for an account's conversion actions, before one is chosen. */
export const accountInput = connectInput.omit({ conversion_action_resource_name: true }).partial();
export type AccountInput = z.output<typeof accountInput>;

export const rotateInput = connectInput.pick({ client_id: true, client_secret: true, refresh_token: true });
export type RotateInput = z.output<typeof rotateInput>;

export const actionsInput = z.strictObject({
  actions: z.array(actionChoice.extend({ countingType: z.string().optional() })).max(50, "TOO_MANY"),
});
export const dryRunInput = z.strictObject({ id: z.uuid("REQUIRED") });
export const switchInput = z.strictObject({ to: z.enum(syncMethods, "REQUIRED") });
export const switchQuery = z.object({ preview: z.literal("1").optional() });

const providerBlock = z.object({ code: z.string(), message: z.string() });

const checkName = z.enum([
  "oauth",
  "data_manager_scope",
  "ads_api_scope",
  "data_manager",
  "ads_api",
  "ads_api_upload",
  "ads_api_adjustments",
]);

const connectionTest = z.object({
  ok: z.boolean(),
  checks: z.array(
    z.object({ name: checkName, ok: z.boolean(), isRequired: z.boolean(), code: z.string().optional(), message: z.string().optional() }),
  ),
  account: z
    .object({
      name: z.string().nullable(),
      currency: z.string().nullable(),
      timezone: z.string().nullable(),
      conversionCustomerId: z.string().nullable(),
    })
    .optional(),
  error: providerBlock.optional(),
  /** Chosen actions, besides that of sealed sales, that Google takes no conversions for. */
  refusedActions: z.array(z.object({ conversionName: z.string(), code: z.string() })),
});

/** `released`: rows that a block had failed and that are queued again. */
export const connectAnswer = z.object({ connected: z.boolean(), released: z.number(), test: connectionTest });
export type ConnectAnswer = z.output<typeof connectAnswer>;

export const actionList = z.object({
  actions: z.array(
    z.object({
      action: z.string(),
      name: z.string(),
      countingType: z.string().nullable(),
      type: z.string().nullable(),
      isEnabled: z.boolean(),
    }),
  ),
  refused: providerBlock.optional(),
});
export type ActionList = z.output<typeof actionList>;

/** `ok`: Google would take the row as it stands. `field`: what it does not take of it, as Google names it. */
export const dryRunAnswer = z.object({
  ok: z.boolean(),
  transport,
  code: z.string().nullable(),
  category: z.string().nullable(),
  field: z.string().nullable(),
  message: z.string().nullable(),
});
export type DryRunAnswer = z.output<typeof dryRunAnswer>;

export const switchPreview = z.object({
  /** Waiting corrections that would go by API, of conversions that a script sent. */
  correctionsOfScript: z.number(),
  waiting: z.number(),
  inFlight: z.number(),
  /** Refused access to the API; goes by script after the switch. */
  released: z.number(),
  adjustmentsByHand: z.number(),
  pageViewsStop: z.boolean(),
  missingActions: z.array(z.string()),
  connected: z.boolean(),
});
export const switchAnswer = z.object({ ok: z.literal(true), from: z.string(), to: z.string() });
