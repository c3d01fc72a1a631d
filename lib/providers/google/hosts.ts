import { env } from "#lib/env.ts";

/** Where Google's APIs are. GOOGLE_API_BASE_URL puts one other address in place of them all; a start on Vercel refuses it. */
export function googleHosts() {
  const { GOOGLE_API_BASE_URL, GOOGLE_ADS_API_VERSION: version } = env();
  const base = GOOGLE_API_BASE_URL?.replace(/\/$/, "");
  if (base) {
    return {
      token: `${base}/oauth2/token`,
      consent: `${base}/oauth2/auth`,
      dataManager: `${base}/datamanager/v1`,
      ads: `${base}/googleads/${version}`,
    };
  }
  return {
    token: "https://oauth2.googleapis.com/token",
    consent: "https://accounts.google.com/o/oauth2/v2/auth",
    dataManager: "https://datamanager.googleapis.com/v1",
    ads: `https://googleads.googleapis.com/${version}`,
  };
}

export const googleScopes = {
  dataManager: "https://www.googleapis.com/auth/datamanager",
  ads: "https://www.googleapis.com/auth/adwords",
} as const;
