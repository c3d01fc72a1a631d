"use client";

import { useState } from "react";
import type { SendFailure } from "#components/forms/send-json.ts";
import { useSend } from "#components/forms/use-send.ts";
import { findingOf } from "#lib/delivery/connection-findings.ts";
import { type ConnectAnswer, connectAnswer } from "#lib/delivery/connection-shapes.ts";
import type { SiteId } from "#lib/site.ts";

export type ConnectionTest = ConnectAnswer["test"];

interface ConnectRequest {
  path: "connect" | "rotate" | "test";
  body?: unknown;
  /** Said in a toast; `released` is how many refused conversions are sent again. */
  done: (released: number) => string | undefined;
  onConnected?: (test: ConnectionTest) => void;
}

/** Sends credentials, or asks to test the stored ones, and keeps what Google said of them. */
export function useConnect(siteId: SiteId) {
  const { send, pending } = useSend();
  const [failure, setFailure] = useState<SendFailure | null>(null);
  const [test, setTest] = useState<ConnectionTest | null>(null);

  function ask({ path, body, done, onConnected }: ConnectRequest): void {
    setFailure(null);
    setTest(null);
    const succeeded = (value: unknown) => connectAnswer.safeParse(value).data;
    void send({
      method: "POST",
      url: `/api/sites/${siteId}/google-ads/${path}`,
      body,
      done: (value) => {
        const answer = succeeded(value);
        return answer?.test.ok ? done(answer.released) : undefined;
      },
      onDone: (value) => {
        const answer = succeeded(value);
        setTest(answer?.test ?? null);
        if (answer?.test.ok) onConnected?.(answer.test);
      },
      onFailed: setFailure,
    });
  }

  const errorCode = test?.error?.code;
  const finding = errorCode === undefined ? null : findingOf(errorCode);
  return { ask, pending, failure, test, finding };
}

/** What was typed, without what was left empty. */
export function givenFields(form: HTMLFormElement | null): Record<string, string> {
  const entries = form ? [...new FormData(form).entries()] : [];
  return Object.fromEntries(
    entries.flatMap(([name, value]) => (typeof value === "string" && value.trim() !== "" ? [[name, value.trim()]] : [])),
  );
}
