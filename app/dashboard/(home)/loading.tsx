import { Card } from "#components/ui/card.tsx";
import { PageSkeleton } from "#components/ui/page-skeleton.tsx";
import { SkeletonRows } from "#components/ui/skeleton.tsx";

export default function SitesLoading() {
  return (
    <PageSkeleton>
      <Card>
        <SkeletonRows count={4} height={52} />
      </Card>
    </PageSkeleton>
  );
}
