"use client";

import type { ReactElement, ReactNode } from "react";
import { Button } from "./button.tsx";
import { Dialog, DialogClose, DialogFoot } from "./dialog.tsx";
import { SubmitButton } from "./submit-button.tsx";

interface ConfirmDialogProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  /** Ends in a question mark and names the thing. */
  title: ReactNode;
  /** What will happen, and whether it can be undone. */
  description: ReactNode;
  /** The deed itself, never "OK". */
  confirm: ReactNode;
  cancel: ReactNode;
  pending: boolean;
  /** False while what is asked is not complete. */
  isReady?: boolean;
  onConfirm: () => void;
  destructive?: boolean;
  trigger?: ReactElement;
  children?: ReactNode;
}

/** Asks before something that cannot be taken back. */
export function ConfirmDialog({
  confirm,
  cancel,
  pending,
  isReady = true,
  onConfirm,
  destructive = true,
  children,
  ...dialog
}: ConfirmDialogProps) {
  return (
    <Dialog {...dialog}>
      {children}
      <DialogFoot>
        <DialogClose render={<Button />}>{cancel}</DialogClose>
        <SubmitButton type="button" tone={destructive ? "destroy" : "primary"} pending={pending} disabled={!isReady} onClick={onConfirm}>
          {confirm}
        </SubmitButton>
      </DialogFoot>
    </Dialog>
  );
}
