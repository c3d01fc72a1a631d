"use client";

import { Download } from "lucide-react";
import { saveText } from "#components/privacy/save-file.ts";
import { Button } from "#components/ui/button.tsx";

/** Saves a receipt as the file that the verifier reads. */
export function SaveReceipt({ proofId, text, label }: { proofId: string; text: string; label: string }) {
  return (
    <Button tone="primary" onClick={() => saveText(text, `receipt-${proofId}.json`)}>
      <Download />
      {label}
    </Button>
  );
}
