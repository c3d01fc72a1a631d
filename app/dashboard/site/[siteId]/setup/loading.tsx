import { CardSkeleton, PageSkeleton } from "#components/ui/page-skeleton.tsx";
import { SkeletonRows } from "#components/ui/skeleton.tsx";

export default function SetupLoading() {
  return (
    <PageSkeleton>
      <CardSkeleton>
        <SkeletonRows count={9} height={58} />
      </CardSkeleton>
    </PageSkeleton>
  );
}
