import { useMemo } from "preact/hooks";
import type { Cost } from "../../../protocol/index.ts";
import { ago, short } from "../../parts/figures.ts";
import { PlainText } from "../../parts/text.tsx";
import { formatPrice } from "../format.ts";
import { Section, TableBox } from "../section.tsx";
import { useNow } from "../use-now.ts";
import { missRows } from "./series.ts";

const MOST_LINES = 50;

/** Where cached tokens had to be paid for again, and why. */
export function MissTable({ cost }: { cost: Cost }) {
	const rows = useMemo(() => missRows(cost), [cost]);
	const now = useNow();
	return (
		<Section title="Misses and their causes">
			{rows.length === 0 ? (
				<p class="soft">The cache was never missed{listed(cost)}.</p>
			) : (
				<TableBox label="Misses">
					<thead>
						<tr>
							<th scope="col" class="right">
								Request
							</th>
							<th scope="col">Cause</th>
							<th scope="col" class="right">
								Tokens
							</th>
							<th scope="col" class="right">
								Cost
							</th>
							<th scope="col">First difference</th>
							<th scope="col" class="right">
								When
							</th>
						</tr>
					</thead>
					<tbody>
						{rows.slice(0, MOST_LINES).map((row) => (
							<tr key={row.number}>
								<th scope="row" class="right">
									{row.number}
								</th>
								<td class="wide">
									<span class="cause">
										<PlainText text={row.cause} most={80} />
									</span>{" "}
									{row.words !== row.cause && <span class="soft">{row.words}</span>}
								</td>
								<td class="right">{short(row.tokens)}</td>
								<td class="right">{formatPrice(row.cost)}</td>
								<td class="wide">
									{row.changed !== undefined && <PlainText text={row.changed} most={200} />}
								</td>
								<td class="right soft">{ago(row.atMs, now)}</td>
							</tr>
						))}
					</tbody>
				</TableBox>
			)}
		</Section>
	);
}

/** Totals cover more than the list when a session is long. */
function listed({ requests, totals }: Cost): string {
	return requests.length < totals.requests ? ` in the latest ${requests.length} requests` : "";
}
