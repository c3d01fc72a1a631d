import { billingColumns } from "#components/billing/billing-columns.ts";
import { Card, CardBody } from "#components/ui/card.tsx";
import { Page } from "#components/ui/page.tsx";
import { CardSkeleton, PageSkeleton } from "#components/ui/page-skeleton.tsx";
import { Skeleton, SkeletonRows } from "#components/ui/skeleton.tsx";

export default function BillingLoading() {
  return (
    <PageSkeleton>
      <div className={billingColumns}>
        <Page>
          <Card className="grid gap-3 p-4">
            <Skeleton width={180} height={34} />
            <Skeleton width="100%" height={10} />
            <Skeleton width="55%" height={14} />
          </Card>
          <CardSkeleton>
            <CardBody>
              <Skeleton width="100%" height={152} />
            </CardBody>
          </CardSkeleton>
          <CardSkeleton>
            <SkeletonRows count={3} height={41} />
          </CardSkeleton>
        </Page>
        <Page>
          <CardSkeleton>
            <SkeletonRows count={6} height={54} />
          </CardSkeleton>
        </Page>
      </div>
    </PageSkeleton>
  );
}
