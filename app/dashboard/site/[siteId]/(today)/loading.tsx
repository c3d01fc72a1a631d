import { deskGrid, detailLook, figureChart, figureGrid } from "#components/desk/desk-look.ts";
import { Card } from "#components/ui/card.tsx";
import { cn } from "#components/ui/cn.ts";
import { CardSkeleton, PageSkeleton } from "#components/ui/page-skeleton.tsx";
import { Skeleton, SkeletonRows } from "#components/ui/skeleton.tsx";

const figures = ["leads", "sealed", "value", "delivered", "waiting", "failed", "minutes"];

/** The desk in its final size: figures and chart, the list, the lead beside it. */
export default function TodayLoading() {
  return (
    <PageSkeleton>
      <Card>
        <div className={figureGrid}>
          {figures.map((figure) => (
            <span key={figure} className="grid gap-2 p-4">
              <Skeleton width="50%" />
              <Skeleton width="70%" height={22} />
              <Skeleton width="80%" height={10} />
            </span>
          ))}
        </div>
        <div className={figureChart}>
          <Skeleton width="100%" height={126} />
        </div>
      </Card>
      <div className={cn(deskGrid, "mt-0")}>
        <CardSkeleton>
          <SkeletonRows count={7} height={78} />
        </CardSkeleton>
        <Card className={detailLook}>
          <SkeletonRows count={6} height={78} />
        </Card>
      </div>
    </PageSkeleton>
  );
}
