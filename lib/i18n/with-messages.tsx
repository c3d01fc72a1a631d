import { getLocale, getMessages } from "next-intl/server";
import type { ComponentType } from "react";
import { AddMessages } from "./add-messages.tsx";
import type { ClientMessages } from "./client-messages.ts";
import { pickMessages } from "./pick-messages.ts";

// biome-ignore lint/style/noProcessEnv: next.config.ts derives it from the source, and the build writes it in here; the dev server carries everything
const byFile: ClientMessages | undefined = process.env.CLIENT_MESSAGES ? JSON.parse(process.env.CLIENT_MESSAGES) : undefined;

/** The messages that the client components of a page or layout ask for, or all of them. */
export async function messagesOf(file: string): Promise<Record<string, unknown>> {
  const messages = await getMessages();
  return byFile ? pickMessages(messages, byFile[file] ?? []) : messages;
}

/** Gives a page or layout, named by its path below app/, the messages that its client components ask for. A test compares the name. */
export function withMessages<Props extends object>(
  file: string,
  Page: ComponentType<Props> | ((props: Props) => Promise<React.ReactNode>),
) {
  return async function WithMessages(props: Props) {
    const [locale, messages] = await Promise.all([getLocale(), messagesOf(file)]);
    return (
      <AddMessages locale={locale} messages={messages}>
        <Page {...props} />
      </AddMessages>
    );
  };
}
