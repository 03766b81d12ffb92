import { useMemo, useState } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { Button } from "../../parts/controls.tsx";
import { dollars, formatCount, short } from "../../parts/figures.ts";
import { PlainText } from "../../parts/text.tsx";
import { Section } from "../section.tsx";
import { type Columns, Table } from "../table.tsx";

/** A system, one of its details, or the total. */
interface Line {
	key: string;
	times?: number;
	tokens: number;
	unmeasured?: number;
	dollars?: number | undefined;
	/** Of a system. */
	row?: SavingsRow;
	/** Of a detail. */
	detail?: string;
}

export function SavingsTable({ savings }: { savings: Data<"Savings"> }) {
	const rows = useMemo(() => savingsRows(savings), [savings]);
	const [open, setOpen] = useState<string>();
	const columns: Columns<Line>[number][] = [
		{
			title: "System",
			cell: ({ row, detail }) => {
				if (detail !== undefined) return <PlainText text={detail} most={200} />;
				if (!row) return "Together";
				const isOpen = open === row.system;
				const onToggle = () => setOpen(isOpen ? undefined : row.system);
				return <SystemName row={row} isOpen={isOpen} onToggle={onToggle} />;
			},
			isRowHeader: true,
		},
		["Times", ({ times }) => times !== undefined && formatCount(times), "roomy"],
		["Tokens", savedTokens],
	];
	if (rows.some((row) => row.dollars !== undefined)) {
		const inDollars = (line: Line) => (line.dollars === undefined ? "–" : dollars(line.dollars));
		columns.push(["Dollars", (line) => (line.detail === undefined ? inDollars(line) : "")]);
	}
	return (
		<Section title="Savings by system">
			<Table
				label="What each system saved"
				rows={rows.flatMap((row) => linesOf(row, open === row.system))}
				keyOf={({ key }) => key}
				classOf={({ row, detail }) =>
					detail === undefined ? (row?.enabled ? "" : "soft") : "detail"
				}
				columns={columns}
				foot={{ key: "total", ...savings.total }}
			/>
			{rows.some((row) => savedTokens(row) === UNMEASURED) && (
				<p class="soft small">{UNMEASURED} at work, but what it saved cannot be measured.</p>
			)}
		</Section>
	);
}

function linesOf(row: SavingsRow, isOpen: boolean): Line[] {
	const { system, times, tokens, unmeasured = 0 } = row;
	const details = isOpen ? row.details : [];
	return [
		{ key: system, times, tokens, unmeasured, dollars: row.dollars, row },
		...details.map(({ label, ...figures }) => ({
			key: `${system} ${label}`,
			detail: label,
			...figures,
		})),
	];
}

interface SystemNameProps {
	row: SavingsRow;
	isOpen: boolean;
	onToggle(): void;
}

function SystemName({ row, isOpen, onToggle }: SystemNameProps) {
	const { name, does, enabled, details } = row;
	return (
		<>
			{details.length > 0 ? (
				<Button class="link" aria-expanded={isOpen} onClick={onToggle} words={name} />
			) : (
				name
			)}{" "}
			<span class="soft small plain">{enabled ? does : "switched off"}</span>
		</>
	);
}

interface SavingsRow extends Data<"SystemSavings"> {
	readonly system: SavingsSystem;
	readonly name: string;
	readonly does: string;
}

type SavingsSystem = Exclude<keyof Data<"Savings">, "total">;

/** The largest savings first, systems that are off last. */
export function savingsRows(savings: Data<"Savings">): SavingsRow[] {
	const rows = SYSTEMS.map(([system, name, does]) => ({ ...savings[system], system, name, does }));
	return rows.sort(
		(one, other) =>
			Number(other.enabled) - Number(one.enabled) ||
			other.tokens - one.tokens ||
			other.times - one.times,
	);
}

/** A dash where a saving cannot be measured. */
export function savedTokens(line: { tokens: number; unmeasured?: number }): string {
	const { tokens, unmeasured = 0 } = line;
	return tokens === 0 && unmeasured > 0 ? UNMEASURED : short(tokens);
}

const UNMEASURED = "–";

const SYSTEMS: readonly (readonly [SavingsSystem, string, string])[] = [
	["readCache", "Read cache", "answers repeated reads with what changed"],
	["paging", "Paging", "hands out large texts page by page"],
	["kota", "Code intelligence (kota)", "answers questions about code without reading files"],
	[
		"pruning",
		"Pruning",
		"replaces old output by stubs when that pays, or before pi would have to compact",
	],
	["tiers", "Working set (tiers)", "keeps stable files where the cache finds them"],
	["economy", "Economy", "knows the providers' cache rules and explains each miss"],
];
