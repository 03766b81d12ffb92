import "./cost.css";
import { useAnswer } from "../../answer.ts";
import { Empty, Problem } from "../../parts/notices.tsx";
import type { SessionViewProps } from "../../views.ts";
import { CostCharts } from "./cost-charts.tsx";
import { CostTotals } from "./cost-totals.tsx";
import { MissTable } from "./miss-table.tsx";
import { SavingsTable } from "./savings-table.tsx";
import { WorkingSet } from "./working-set.tsx";

/** What the session has cost, why, and what our systems saved. */
export function CostView({ sessionId, changes }: SessionViewProps) {
	const version = changes.value;
	const cost = useAnswer("get_cost", { sessionId }, version);
	const savings = useAnswer("get_savings", { sessionId }, version);
	const tiers = useAnswer("get_tiers", { sessionId }, version);
	return (
		<div class="view">
			{cost.error !== undefined && <Problem text={cost.error} onRetry={cost.refresh} />}
			{!cost.data && cost.error === undefined && <Empty>Adding up…</Empty>}
			{cost.data?.totals.requests === 0 && (
				<Empty>No request has been answered yet: there is nothing to pay.</Empty>
			)}
			{cost.data && cost.data.totals.requests > 0 && (
				<>
					<CostTotals totals={cost.data.totals} />
					<CostCharts cost={cost.data} />
					<MissTable cost={cost.data} />
				</>
			)}
			{savings.error !== undefined && <Problem text={savings.error} onRetry={savings.refresh} />}
			{savings.data && <SavingsTable savings={savings.data} />}
			{tiers.error !== undefined && <Problem text={tiers.error} onRetry={tiers.refresh} />}
			{tiers.data && <WorkingSet tiers={tiers.data} />}
		</div>
	);
}
