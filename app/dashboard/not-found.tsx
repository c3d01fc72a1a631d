import { NotFoundCard } from "#components/shell/not-found-card.tsx";

export default function DashboardNotFound() {
  return (
    <div className="pt-4">
      <NotFoundCard />
    </div>
  );
}
