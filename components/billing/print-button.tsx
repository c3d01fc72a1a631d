"use client";

import { Printer } from "lucide-react";
import { Button } from "#components/ui/button.tsx";

export function PrintButton({ label }: { label: string }) {
  return (
    <Button tone="primary" onClick={() => window.print()}>
      <Printer />
      {label}
    </Button>
  );
}
