import { z } from "zod";

const httpUrl = z.url({ protocol: /^https?$/ });
const secret = (minLength: number) => z.string().min(minLength, `must have at least ${minLength} characters`);

/** Base64 of 32 bytes. Node skips characters that it does not know, so the text must be what its bytes spell. */
export function isVaultKey(text: string): boolean {
  const bytes = Buffer.from(text, "base64");
  return bytes.length === 32 && bytes.toString("base64").replace(/={1,2}$/, "") === text.replace(/={1,2}$/, "");
}

const vaultKey = z.string().refine(isVaultKey, "must be 32 random bytes in base64: openssl rand -base64 32");

/** Whose word about a caller's address counts: Vercel's, that of so many proxies of our own, or nobody's (the socket's address). */
export type TrustedProxy = "vercel" | "none" | number;
const trustedProxy = z
  .union([z.enum(["vercel", "none"]), z.coerce.number().int().min(1).max(10)], "must be vercel, none or the number of proxies (1 to 10)")
  .optional();

/** Every variable the app reads. .env.example says what each is for and where its value is found. */
const envSchema = z
  .object({
    NODE_ENV: z.enum(["development", "production", "test"]).default("production"),
    APP_URL: httpUrl,
    DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }).optional(),
    SUPABASE_URL: httpUrl,
    SUPABASE_PUBLISHABLE_KEY: secret(16),
    SUPABASE_SECRET_KEY: secret(16).optional(),
    UPSTASH_REDIS_REST_URL: httpUrl,
    UPSTASH_REDIS_REST_TOKEN: secret(16),
    QSTASH_URL: httpUrl.default("https://qstash.upstash.io"),
    QSTASH_TOKEN: secret(16),
    QSTASH_CURRENT_SIGNING_KEY: secret(16),
    QSTASH_NEXT_SIGNING_KEY: secret(16),
    CRON_SECRET: secret(16),
    OCI_SESSION_SECRET: secret(32),
    OCI_MAX_ATTEMPTS: z.coerce.number().int().min(1).max(100).optional(),
    OPSMANTIK_VAULT_KEY: vaultKey.optional(),
    OPSMANTIK_VAULT_KEY_PREVIOUS: vaultKey.optional(),
    CONCURRENCY_PER_SITE_PROVIDER: z.coerce.number().int().min(1).max(100).default(2),
    CONCURRENCY_GLOBAL_PER_PROVIDER: z.coerce.number().int().min(0).max(10_000).default(10),
    SEMAPHORE_TTL_MS: z.coerce.number().int().min(1_000).max(900_000).default(120_000),
    GOOGLE_ADS_API_VERSION: z
      .string()
      .regex(/^v\d{1,3}$/, "must look like v26")
      .default("v26"),
    GOOGLE_API_BASE_URL: httpUrl.optional(),
    GOOGLE_OAUTH_CLIENT_ID: z.string().optional(),
    GOOGLE_OAUTH_CLIENT_SECRET: z.string().optional(),
    TRUSTED_PROXY: trustedProxy,
    VERDICT_FIRST_POLL_SECONDS: z.coerce.number().int().min(0).max(86_400).default(1800),
    VERDICT_UNKNOWN_AFTER_HOURS: z.coerce.number().int().min(1).max(8760).default(168),
    SECURITY_CONTACT: z
      .string()
      .regex(/^(mailto:|https:\/\/)\S+$/, "must be mailto:… or https://…")
      .optional(),
    RETENTION_EVENTS_MONTHS: z.coerce.number().int().min(3).max(120).default(13),
    RETENTION_PERSONAL_MONTHS: z.coerce.number().int().min(4).max(120).default(24),
    RETENTION_FAILED_DAYS: z.coerce.number().int().min(7).max(3650).default(30),
    RETENTION_REVOKED_KEYS_DAYS: z.coerce.number().int().min(30).max(3650).default(365),
    /** Set by Vercel itself. */
    VERCEL: z.string().optional(),
  })
  // Credentials of customers would go to whatever answers there.
  .refine((values) => !(values.GOOGLE_API_BASE_URL && values.VERCEL), {
    path: ["GOOGLE_API_BASE_URL"],
    message: "is for the simulator on a developer's machine; a deployment on Vercel talks to Google itself. Remove it",
  })
  .refine((values) => values.DATABASE_URL || values.SUPABASE_SECRET_KEY, {
    path: ["DATABASE_URL"],
    message: "set DATABASE_URL (preferred) or SUPABASE_SECRET_KEY: machine routes reach the database through one of them",
  })
  .transform((values) => ({ ...values, TRUSTED_PROXY: values.TRUSTED_PROXY ?? (values.VERCEL ? "vercel" : "none") }));

export type Env = z.output<typeof envSchema>;

/** Parses variables; on failure one error names every bad one, so that a deployer fixes all in one go. */
export function parseEnv(source: Record<string, string | undefined>): Env {
  const given = Object.fromEntries(Object.entries(source).filter(([, value]) => value !== ""));
  const parsed = envSchema.safeParse(given);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map((issue) => {
    const name = String(issue.path[0]);
    return `  ${name}: ${given[name] === undefined ? `is missing${issue.code === "custom" ? `; ${issue.message}` : ""}` : issue.message}`;
  });
  throw new Error(
    `OpsMantik cannot start: ${lines.length} environment variable(s) are wrong.\n${lines.join("\n")}\nSee .env.example for what each is for.`,
  );
}

let cached: Env | undefined;

/** The app's settings, read once, on first use: a build needs none of them. */
export function env(): Env {
  cached ??= parseEnv(process.env);
  return cached;
}

/** Names the deployment that a build is for, so that its pages ask for their own files. Vercel sets both; unset elsewhere. */
export function deploymentId(source: Record<string, string | undefined> = process.env): string | undefined {
  return source.NEXT_DEPLOYMENT_ID || source.VERCEL_DEPLOYMENT_ID || undefined;
}
