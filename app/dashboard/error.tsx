"use client";

import { LoadError } from "#components/forms/load-error.tsx";

export default function DashboardError({ error, retry }: { error: unknown; retry: () => void }) {
  return (
    <div className="pt-4">
      <LoadError error={error} retry={retry} />
    </div>
  );
}
