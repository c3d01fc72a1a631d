import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import { ToastProvider } from "#components/ui/toast.tsx";
import type { Theme } from "#lib/i18n/theme.ts";
import type { ShellSite } from "./current-site.ts";
import { NavCountsProvider } from "./nav-counts.tsx";
import { PhoneAccount } from "./phone-account.tsx";
import { SideNav } from "./side-nav.tsx";
import { SiteSwitcher } from "./site-switcher.tsx";
import { TabBar } from "./tab-bar.tsx";
import { UserBlock } from "./user-block.tsx";

interface AppShellProps {
  user: { name: string; email: string };
  sites: ShellSite[];
  mayCreate: boolean;
  /** Open leads by site. */
  open: Readonly<Record<string, number>>;
  theme: Theme;
  children: ReactNode;
}

/** The frame of every dashboard page. It finds the site in view from the address, so it stays mounted between pages. */
export function AppShell({ user, sites, mayCreate, open, theme, children }: AppShellProps) {
  const t = useTranslations("nav");
  return (
    <ToastProvider>
      <NavCountsProvider open={open}>
        <a className="skip" href="#main">
          {t("skip")}
        </a>
        <div className="app">
          <SideNav sites={sites} mayCreate={mayCreate}>
            <UserBlock name={user.name} email={user.email} sites={sites} />
          </SideNav>
          <div className="min-w-0">
            <div className="phone-bar">
              <SiteSwitcher sites={sites} mayCreate={mayCreate} />
            </div>
            <main className="main" id="main" tabIndex={-1}>
              {children}
            </main>
          </div>
        </div>
        <TabBar sites={sites}>
          <PhoneAccount name={user.name} email={user.email} theme={theme} />
        </TabBar>
      </NavCountsProvider>
    </ToastProvider>
  );
}
