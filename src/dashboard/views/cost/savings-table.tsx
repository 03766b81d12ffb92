import { useMemo, useState } from "preact/hooks";
import type { Savings } from "../../../protocol/index.ts";
import { dollars, short } from "../../parts/figures.ts";
import { PlainText } from "../../parts/text.tsx";
import { formatCount } from "../format.ts";
import { Section, TableBox } from "../section.tsx";
import { type SavingsRow, savingsRows } from "./savings.ts";

/** What each of our systems did for the session. */
export function SavingsTable({ savings }: { savings: Savings }) {
	const rows = useMemo(() => savingsRows(savings), [savings]);
	const [open, setOpen] = useState<string>();
	const { total } = savings;
	const hasDollars = rows.some((row) => row.dollars !== undefined);
	return (
		<Section title="Savings by system">
			<TableBox label="Savings by system">
				<thead>
					<tr>
						<th scope="col">System</th>
						<th scope="col" class="right roomy">
							Times
						</th>
						<th scope="col" class="right">
							Tokens
						</th>
						{hasDollars && (
							<th scope="col" class="right">
								Dollars
							</th>
						)}
					</tr>
				</thead>
				<tbody>
					{rows.map((row) => (
						<SystemRows
							key={row.system}
							row={row}
							hasDollars={hasDollars}
							isOpen={open === row.system}
							onToggle={() => setOpen(open === row.system ? undefined : row.system)}
						/>
					))}
				</tbody>
				<tfoot>
					<tr>
						<th scope="row">Together</th>
						<td class="roomy" />
						<td class="right">{short(total.tokens)}</td>
						{hasDollars && (
							<td class="right">{total.dollars === undefined ? "–" : dollars(total.dollars)}</td>
						)}
					</tr>
				</tfoot>
			</TableBox>
		</Section>
	);
}

interface SystemRowsProps {
	row: SavingsRow;
	/** Prices are known. */
	hasDollars: boolean;
	isOpen: boolean;
	onToggle(): void;
}

function SystemRows({ row, hasDollars, isOpen, onToggle }: SystemRowsProps) {
	const { name, does, enabled, times, tokens, details } = row;
	return (
		<>
			<tr class={enabled ? "" : "soft"}>
				<th scope="row">
					{details.length > 0 ? (
						<button type="button" class="link" aria-expanded={isOpen} onClick={onToggle}>
							{name}
						</button>
					) : (
						name
					)}{" "}
					<span class="soft small plain">{enabled ? does : "switched off"}</span>
				</th>
				<td class="right roomy">{formatCount(times)}</td>
				<td class="right">{short(tokens)}</td>
				{hasDollars && (
					<td class="right">{row.dollars === undefined ? "–" : dollars(row.dollars)}</td>
				)}
			</tr>
			{isOpen &&
				details.map((detail) => (
					<tr class="detail" key={detail.label}>
						<td>
							<PlainText text={detail.label} most={200} />
						</td>
						<td class="right roomy">{formatCount(detail.times)}</td>
						<td class="right">{short(detail.tokens)}</td>
						{hasDollars && <td />}
					</tr>
				))}
		</>
	);
}
