import { ListSkeleton } from "#components/ui/page-skeleton.tsx";

export default function SalesLoading() {
  return <ListSkeleton />;
}
