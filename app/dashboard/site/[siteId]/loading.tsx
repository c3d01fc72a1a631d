import { CardSkeleton, PageSkeleton } from "#components/ui/page-skeleton.tsx";
import { Skeleton, SkeletonRows } from "#components/ui/skeleton.tsx";

const figures = ["leads", "sealed", "value", "delivered", "waiting", "failed", "minutes"];

/** The desk in its final size: figures and chart, the list, the lead beside it. */
export default function TodayLoading() {
  return (
    <PageSkeleton>
      <div className="card">
        <div className="kpi">
          {figures.map((figure) => (
            <span key={figure} className="grid gap-2 p-4">
              <Skeleton width="50%" />
              <Skeleton width="70%" height={22} />
              <Skeleton width="80%" height={10} />
            </span>
          ))}
        </div>
        <div className="kpi-chart">
          <Skeleton width="100%" height={126} />
        </div>
      </div>
      <div className="desk mt-0">
        <CardSkeleton>
          <SkeletonRows count={7} height={78} />
        </CardSkeleton>
        <div className="card detail">
          <SkeletonRows count={6} height={78} />
        </div>
      </div>
    </PageSkeleton>
  );
}
