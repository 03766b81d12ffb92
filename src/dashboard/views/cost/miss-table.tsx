import { useMemo } from "preact/hooks";
import type { Cost } from "../../../protocol/index.ts";
import { ago, short } from "../../parts/figures.ts";
import { formatPrice } from "../format.ts";
import { Section } from "../section.tsx";
import { Table } from "../table.tsx";
import { useNow } from "../use-now.ts";
import { Cause, FirstDifference } from "./cause.tsx";
import { missRows } from "./series.ts";

/** Where cached tokens had to be paid for again, and why. */
export function MissTable({ cost }: { cost: Cost }) {
	const rows = useMemo(() => missRows(cost), [cost]);
	const now = useNow();
	return (
		<Section title="Misses and their causes">
			{rows.length === 0 ? (
				<p class="soft">The cache was never missed{listed(cost)}.</p>
			) : (
				<Table
					label="Misses"
					rows={rows}
					most={50}
					keyOf={({ number }) => number}
					columns={[
						{ title: "Request", cell: (row) => row.number, align: "right", isRowHeader: true },
						{ title: "Cause", cell: (row) => <Cause cause={row.cause} />, class: "wide" },
						{ title: "Tokens", cell: (row) => short(row.tokens), align: "right" },
						{ title: "Cost", cell: (row) => formatPrice(row.cost), align: "right" },
						{
							title: "First difference",
							cell: ({ changed }) => <FirstDifference changed={changed} />,
							class: "wide",
						},
						{ title: "When", cell: (row) => ago(row.atMs, now), align: "right", class: "soft" },
					]}
				/>
			)}
		</Section>
	);
}

/** Totals cover more than the list when a session is long. */
function listed({ requests, totals }: Cost): string {
	return requests.length < totals.requests ? ` in the latest ${requests.length} requests` : "";
}
