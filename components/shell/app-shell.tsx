import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import { SignInAgainProvider } from "#components/auth/sign-in-again.tsx";
import { ToastProvider } from "#components/ui/toast.tsx";
import type { Theme } from "#lib/i18n/theme.ts";
import type { ShellSite } from "./current-site.ts";
import { NavCountsProvider } from "./nav-counts.tsx";
import { NewVersionNotice } from "./new-version-notice.tsx";
import { PhoneAccount } from "./phone-account.tsx";
import { QuickSearch } from "./quick-search.tsx";
import { SideNav } from "./side-nav.tsx";
import { SiteInViewProvider } from "./site-in-view.tsx";
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
      <SignInAgainProvider email={user.email}>
        <NavCountsProvider open={open}>
          <SiteInViewProvider>
            <a
              className="fixed top-2 left-2 z-99 -translate-y-15 rounded-md bg-accent px-3.5 py-2 text-accent-on focus:translate-y-0 print:hidden"
              href="#main"
            >
              {t("skip")}
            </a>
            <div className="min-h-dvh max-desk:pb-tabbar desk:grid desk:grid-cols-[240px_minmax(0,1fr)] rail:grid-cols-[64px_minmax(0,1fr)] print:block print:p-0">
              <SideNav sites={sites} mayCreate={mayCreate}>
                <UserBlock name={user.name} email={user.email} sites={sites} />
              </SideNav>
              <div className="min-w-0">
                <div className="sticky top-0 z-5 flex min-h-15 items-center gap-2 bg-surface-0 px-4 desk:hidden print:hidden">
                  <SiteSwitcher sites={sites} mayCreate={mayCreate} />
                  <QuickSearch sites={sites} mayCreate={mayCreate} look="icon" />
                </div>
                <main
                  className="@container/main min-w-0 px-6 rail:px-4 pb-8 outline-none max-desk:px-4 max-desk:pb-6 min-[1241px]:has-[.drawer,[data-slot=drawer]]:pr-116 print:p-[8mm]"
                  id="main"
                  tabIndex={-1}
                >
                  {children}
                </main>
              </div>
            </div>
            <NewVersionNotice />
            <TabBar sites={sites}>
              <PhoneAccount name={user.name} email={user.email} theme={theme} />
            </TabBar>
          </SiteInViewProvider>
        </NavCountsProvider>
      </SignInAgainProvider>
    </ToastProvider>
  );
}
