"use client";

import { useEffect, useRef, useState } from "react";
import type { SendFailure } from "#components/forms/send-json.ts";
import type { SiteId } from "#lib/site.ts";
import { advance, type Job } from "./job.ts";

/** A job under way, or one that stopped: by the operator, by leaving the page, or by a refusal. */
export interface Run {
  job: Job;
  state: "running" | "stopped";
  /** Why it stopped, when it was refused. */
  code: string | null;
}

export interface Ended {
  job: Job;
  failure: SendFailure | null;
}

/** The browser keeps an unfinished job, so that an operator who left the page can resume it. */
const keyOf = (siteId: SiteId) => `om.oci.job.${siteId}`;

function keepJob(siteId: SiteId, job: Job | null): void {
  try {
    if (job && job.steps.length > 0 && job.done > 0) window.localStorage.setItem(keyOf(siteId), JSON.stringify(job));
    else window.localStorage.removeItem(keyOf(siteId));
  } catch {
    // storage is forbidden or full: the job lasts as long as the page
  }
}

function keptJob(siteId: SiteId): Job | null {
  try {
    const job: unknown = JSON.parse(window.localStorage.getItem(keyOf(siteId)) ?? "null");
    // Written by keepJob; an older version of this page may have written it otherwise.
    return typeof job === "object" && job !== null && "before" in job && "steps" in job ? (job as Job) : null;
  } catch {
    return null;
  }
}

/** Runs one job at a time and stores what is not done. A page that is left stops after the current request. */
export function useJob(siteId: SiteId) {
  const [run, setRun] = useState<Run | null>(null);
  const isStopped = useRef(false);
  const isRunning = useRef(false);
  useEffect(() => {
    isStopped.current = false;
    const kept = keptJob(siteId);
    if (kept) setRun({ job: kept, state: "stopped", code: null });
    return () => {
      isStopped.current = true;
    };
  }, [siteId]);

  return {
    run,
    isRunning: () => isRunning.current,
    stop: () => {
      isStopped.current = true;
    },
    /** Drops a job that stopped; what it did stays done. */
    drop() {
      keepJob(siteId, null);
      setRun(null);
    },
    /** Null: it stopped midway and can be resumed. */
    async start(job: Job, onBegun: () => void): Promise<Ended | null> {
      isStopped.current = false;
      isRunning.current = true;
      setRun({ job, state: "running", code: null });
      const onProgress = (next: Job) => {
        keepJob(siteId, next);
        setRun({ job: next, state: "running", code: null });
        onBegun();
      };
      const ended = await advance(job, { onProgress, isStopped: () => isStopped.current });
      isRunning.current = false;
      const isMidway = ended.job.steps.length > 0 && ended.job.done > 0;
      setRun(isMidway ? { job: ended.job, state: "stopped", code: ended.failure?.code ?? null } : null);
      return isMidway ? null : ended;
    },
  };
}
