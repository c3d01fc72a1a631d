"use client";

import { LoadError } from "#components/forms/load-error.tsx";

export default function RootError({ error, retry }: { error: unknown; retry: () => void }) {
  return (
    <main className="mx-auto max-w-160 px-4 py-8">
      <LoadError error={error} retry={retry} />
    </main>
  );
}
