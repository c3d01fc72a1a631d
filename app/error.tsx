"use client";

import { LoadError } from "#components/forms/load-error.tsx";
import { PublicPage } from "#components/shell/public-page.tsx";

export default function RootError({ error, retry }: { error: unknown; retry: () => void }) {
  return (
    <PublicPage>
      <LoadError error={error} retry={retry} />
    </PublicPage>
  );
}
