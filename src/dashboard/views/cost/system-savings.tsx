import { useMemo, useState } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { Button } from "../../parts/controls.tsx";
import { dollars, formatCount, short } from "../../parts/figures.ts";
import { PlainText } from "../../parts/text.tsx";
import { Section } from "../section.tsx";
import { type Columns, Table } from "../table.tsx";

/** A line of the table: a system (has `row`), one of its details (has `detail`), or the total. */
interface Line {
	readonly key: string;
	readonly tokens: number;
	readonly dollars?: number | undefined;
	readonly times?: number;
	readonly unmeasured?: number;
	readonly row?: SavingsRow;
	readonly detail?: string;
}

export function SavingsTable({ savings }: { savings: Data<"Savings"> }) {
	const rows = useMemo(() => savingsRows(savings), [savings]);
	const [open, setOpen] = useState<string>();
	const columns: Columns<Line>[number][] = [
		{
			title: "System",
			cell: ({ row, detail }) => {
				if (detail !== undefined) return <PlainText text={detail} max={200} />;
				if (!row) return "Total";
				const { system, name, does, enabled, details } = row;
				const isOpen = open === system;
				const toggle = () => setOpen(isOpen ? undefined : system);
				return (
					<>
						{details.length > 0 ? (
							<Button class="link" aria-expanded={isOpen} onClick={toggle} label={name} />
						) : (
							name
						)}{" "}
						<span class="soft small plain">{enabled ? does : "turned off"}</span>
					</>
				);
			},
			isRowHeader: true,
		},
		["Times", ({ times }) => times !== undefined && formatCount(times), "roomy"],
		["Tokens not sent", savedTokens],
	];
	if (rows.some((row) => row.dollars !== undefined)) {
		const inDollars = (line: Line) => (line.dollars === undefined ? "–" : dollars(line.dollars));
		columns.push(["Dollars", (line) => (line.detail === undefined ? inDollars(line) : "")]);
	}
	return (
		<Section title="What each system did">
			<Table
				label="Saved by each system"
				rows={rows.flatMap((row) => linesOf(row, open === row.system))}
				keyOf={({ key }) => key}
				classOf={({ row, detail }) =>
					detail === undefined ? (row?.enabled ? "" : "soft") : "detail"
				}
				columns={columns}
				foot={{ key: "total", ...savings.total }}
			/>
			{(savings.paging?.tokens ?? 0) > 0 && (
				<p class="soft small">
					What was saved, above, leaves paging out: what pi alone would have done with such texts is
					not known.
				</p>
			)}
			{rows.some((row) => savedTokens(row) === UNMEASURED) && (
				<p class="soft small">{UNMEASURED} means: active, but the savings cannot be measured.</p>
			)}
		</Section>
	);
}

function linesOf(row: SavingsRow, isOpen: boolean): Line[] {
	const { system, details } = row;
	return [
		{ ...row, key: system, row },
		...(isOpen ? details : []).map((detail) => {
			return { ...detail, key: `${system} ${detail.label}`, detail: detail.label };
		}),
	];
}

type SavingsRow = ReturnType<typeof savingsRows>[number];
type SavingsSystem = Exclude<keyof Data<"Savings">, "total">;

export function savingsRows(savings: Data<"Savings">) {
	const rows = SYSTEMS.flatMap(([system, name, does]) => {
		const found = savings[system];
		return found ? [{ ...found, system, name, does }] : [];
	});
	return rows.sort(
		(one, other) =>
			Number(other.enabled) - Number(one.enabled) ||
			other.tokens - one.tokens ||
			other.times - one.times,
	);
}

export function savedTokens({ tokens, unmeasured = 0 }: Pick<Line, "tokens" | "unmeasured">) {
	return tokens === 0 && unmeasured > 0 ? UNMEASURED : short(tokens);
}

const UNMEASURED = "–";

const SYSTEMS: readonly (readonly [SavingsSystem, string, string])[] = [
	["readCache", "Read cache", "answers repeated reads with only what changed"],
	["birth", "Birth", "shortens results before they are first sent"],
	["paging", "Paging", "serves large texts in chunks"],
	["kota", "Code intelligence (kota)", "answers questions about code without reading files"],
	[
		"pruning",
		"Pruning",
		"replaces old output with stubs when that pays off, or before pi would have to compact",
	],
	["tiers", "Working set (tiers)", "places stable files where they stay in the cache"],
	["economy", "Economy", "knows the providers' cache rules and explains each cache miss"],
];
