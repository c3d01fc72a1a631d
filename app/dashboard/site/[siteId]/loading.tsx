import { CardSkeleton, PageSkeleton } from "#components/ui/page-skeleton.tsx";
import { SkeletonRows } from "#components/ui/skeleton.tsx";

export default function SiteLoading() {
  return (
    <PageSkeleton>
      <CardSkeleton>
        <SkeletonRows count={4} height={64} />
      </CardSkeleton>
    </PageSkeleton>
  );
}
