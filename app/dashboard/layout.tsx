import { cookies } from "next/headers";
import { unstable_rethrow } from "next/navigation";
import type { ReactNode } from "react";
import { AppShell } from "#components/shell/app-shell.tsx";
import type { ShellSite } from "#components/shell/current-site.ts";
import { readPage, requireUser } from "#lib/auth/session.ts";
import { parseTheme, themeCookie } from "#lib/i18n/theme.ts";
import { withMessages } from "#lib/i18n/with-messages.tsx";
import { readOpenLeads } from "#lib/leads/desk-readers.ts";
import { listSites } from "#lib/tenancy/readers.ts";

/** The shell is shown even when the database is down: the page inside then says what is wrong. */
async function shellSites(): Promise<{ sites: ShellSite[]; mayCreate: boolean; open: Record<string, number> }> {
  try {
    const [{ sites, mayCreate }, open] = await Promise.all([listSites(), readPage(readOpenLeads)]);
    return {
      mayCreate,
      open,
      sites: sites.map(({ siteId, name, domains, role, timezone }) => ({ siteId, name, domain: domains[0] ?? null, role, timezone })),
    };
  } catch (error) {
    unstable_rethrow(error); // a redirect to sign-in is not a failure
    return { sites: [], mayCreate: false, open: {} };
  }
}

async function DashboardLayout({ children }: { children: ReactNode }) {
  const user = await requireUser();
  const [{ sites, mayCreate, open }, jar] = await Promise.all([shellSites(), cookies()]);
  return (
    <AppShell user={user} sites={sites} mayCreate={mayCreate} open={open} theme={parseTheme(jar.get(themeCookie)?.value)}>
      {children}
    </AppShell>
  );
}

export default withMessages("dashboard/layout", DashboardLayout);
