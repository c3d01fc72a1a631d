import type { EmailMessage } from "@supabase/lite";
import { escapeHtml, renderData } from "./render-data.ts";

export interface Mail {
  to: string;
  subject: string;
  sentAt: string;
  /** The first link of the mail, the one to click. */
  link: string | null;
  html: string;
}

const keptMails = 100;

/** Keeps the newest mails that the gateway would have sent, in memory. `readData` reads an account's own data, which its mails may name. */
export function createMailbox(readData: (email: string) => Promise<Record<string, unknown>>) {
  const mails: Mail[] = [];
  return {
    /** Newest first. */
    mails: (): readonly Mail[] => mails,
    async send(message: EmailMessage): Promise<void> {
      const html = renderData(message.html ?? "", await readData(message.to));
      mails.unshift({ to: message.to, subject: message.subject, sentAt: new Date().toISOString(), link: firstLink(html), html });
      mails.length = Math.min(mails.length, keptMails);
    },
  };
}

export type Mailbox = ReturnType<typeof createMailbox>;

export function mailboxPage(mails: readonly Mail[]): string {
  const items = mails.map(
    (mail) => `<li><time>${escapeHtml(mail.sentAt)}</time> to <b>${escapeHtml(mail.to)}</b><br>
      ${mail.link ? `<a href="${escapeHtml(mail.link)}">${escapeHtml(mail.subject)}</a>` : escapeHtml(mail.subject)}</li>`,
  );
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Mailbox</title><style>body{font:16px/1.5 system-ui;max-width:44rem;margin:2rem auto;padding:0 1rem}li{margin:0 0 1rem}</style>
<h1>Mailbox</h1><p>Mails this stack would have sent, newest first.</p>
${items.length > 0 ? `<ul>${items.join("\n")}</ul>` : "<p>None yet.</p>"}</html>`;
}

function firstLink(html: string): string | null {
  return /href="([^"]+)"/.exec(html)?.[1]?.replaceAll("&amp;", "&") ?? null;
}
