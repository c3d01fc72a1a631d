import type { Job } from "./job.ts";

/** A job that has begun and is not done stays with the browser: whoever leaves the page or loses it can go on. Doing a step again changes nothing twice. */
const keyOf = (siteId: string) => `om.oci.job.${siteId}`;

export function keepJob(siteId: string, job: Job): void {
  try {
    if (job.steps.length > 0 && job.done > 0) window.localStorage.setItem(keyOf(siteId), JSON.stringify(job));
    else window.localStorage.removeItem(keyOf(siteId));
  } catch {
    // storage is forbidden or full: the job lasts as long as the page
  }
}

export function forgetJob(siteId: string): void {
  try {
    window.localStorage.removeItem(keyOf(siteId));
  } catch {
    // see above
  }
}

export function keptJob(siteId: string): Job | null {
  try {
    const job: unknown = JSON.parse(window.localStorage.getItem(keyOf(siteId)) ?? "null");
    // Written by keepJob; an older version of this page may have written it otherwise.
    return typeof job === "object" && job !== null && "before" in job && "steps" in job ? (job as Job) : null;
  } catch {
    return null;
  }
}
