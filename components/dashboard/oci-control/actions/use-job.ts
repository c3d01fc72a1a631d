"use client";

import { useEffect, useRef, useState } from "react";
import type { SendFailure } from "#components/forms/send-json.ts";
import { advance, type Job } from "./job.ts";
import { forgetJob, keepJob, keptJob } from "./kept-job.ts";

/** A job under way, or one that stopped: by a hand, by leaving the page, or by a refusal. */
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

/** Runs one job at a time and keeps what is not done. A page that is left stops after the request that is on its way. */
export function useJob(siteId: string) {
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
    /** Lets go of a job that stopped; what it did stays done. */
    drop() {
      forgetJob(siteId);
      setRun(null);
    },
    /** Null: it stopped midway and waits to be gone on with. */
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
