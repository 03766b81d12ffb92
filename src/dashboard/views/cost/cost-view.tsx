import "./cost.css";
import { useMemo, useState } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { useAnswer } from "../../answer.ts";
import { Button, Scroller } from "../../parts/controls.tsx";
import {
	ago,
	dollars,
	formatCount,
	formatDifference,
	formatNumberOf,
	formatPrice,
	formatShare,
	short,
} from "../../parts/figures.ts";
import { Answered, Empty } from "../../parts/notices.tsx";
import { PlainText, visibleSpans } from "../../parts/text.tsx";
import { hrefOf } from "../../route.ts";
import { isDemo, MadeUp } from "../../session/demo-banner.tsx";
import type { SessionViewProps } from "../../session/open-session.ts";
import { type Figure, Figures, Section, useNow } from "../section.tsx";
import { type Columns, FILE_COLUMN, Table } from "../table.tsx";
import { CostCharts, MissTable } from "./cost-charts.tsx";

export function CostView({ sessionId, changes, state }: SessionViewProps) {
	const version = changes.value;
	const hasMadeUpPrices = state.value !== undefined && isDemo(state.value);
	const savings = useAnswer("get_savings", { sessionId }, version);
	const tiers = useAnswer("get_tiers", { sessionId }, version);
	return (
		<div class="view">
			<Answered answer={useAnswer("get_cost", { sessionId }, version)} waiting="Loading…">
				{(cost) =>
					cost.totals.requests === 0 ? (
						<Section title="Cost">
							<Empty>
								No request has been answered yet, so there is no cost. Here you will see what was
								saved, what each request cost, and why a request missed the cache.
							</Empty>
						</Section>
					) : (
						<>
							<Saved
								totals={cost.totals}
								savings={savings.data}
								sessionId={sessionId}
								hasMadeUpPrices={hasMadeUpPrices}
							/>
							<CostTotals totals={cost.totals} hasMadeUpPrices={hasMadeUpPrices} />
							<CostCharts cost={cost} />
							<MissTable cost={cost} />
						</>
					)
				}
			</Answered>
			<Answered answer={savings}>{(data) => <SavingsTable savings={data} />}</Answered>
			<Answered answer={tiers}>{(data) => <WorkingSet tiers={data} />}</Answered>
		</div>
	);
}

type Totals = Data<"Cost">["totals"];

interface SavedProps {
	readonly totals: Totals;
	readonly savings: Data<"Savings"> | undefined;
	readonly sessionId: string;
	readonly hasMadeUpPrices: boolean;
}

/** What the session would have cost with pi alone, in one sentence. */
function Saved({ totals, savings, sessionId, hasMadeUpPrices }: SavedProps) {
	const { cost, appendOnlyCost } = totals;
	const tokens = savings?.total.tokens;
	const saved = savedAmount(cost, appendOnlyCost);
	return (
		<Section
			title="What was saved"
			aside={
				<a class="button small" href={hrefOf({ page: "replay", sessionId })}>
					Replay under other policies
				</a>
			}
		>
			<p class="headline number">
				<span class={`headline-value ${saved.tone ?? ""}`}>{saved.value}</span>{" "}
				<MadeUp isShown={hasMadeUpPrices && saved.isDollars} /> {saved.words} pi alone
				{tokens !== undefined && tokens > 0 && (
					<span class="soft"> · {short(tokens)} tokens not sent, or not sent again</span>
				)}
			</p>
			<p class="soft small">{piAloneNote(totals)}</p>
		</Section>
	);
}

/** The difference to pi alone. A loss is said as plainly as a saving. */
export function savedAmount(cost: Data<"Price">, other: Data<"Price">) {
	const isDollars = cost.dollars !== undefined && other.dollars !== undefined;
	const unit = isDollars ? "dollars" : "tokens";
	const saved = (other[unit] ?? 0) - (cost[unit] ?? 0);
	const isEven = Math.abs(saved) < (other[unit] ?? 0) * 0.0005;
	const amount = isDollars ? dollars(Math.abs(saved)) : `${short(Math.abs(saved))} tokens`;
	if (isEven || saved === 0)
		return { value: isDollars ? "$0" : "0 tokens", words: "saved against", isDollars };
	return saved > 0
		? { value: amount, words: "saved against", tone: "good" as const, isDollars }
		: { value: amount, words: "more than", tone: "bad" as const, isDollars };
}

/** Prompts and answers, in dollars if both have a price. The header of the session shows the same sum. */
export function totalDollars({ cost, outputDollars }: Pick<Totals, "cost" | "outputDollars">) {
	if (cost.dollars === undefined || outputDollars === undefined) return undefined;
	return cost.dollars + outputDollars;
}

function CostTotals({ totals, hasMadeUpPrices }: { totals: Totals; hasMadeUpPrices: boolean }) {
	const total = totalDollars(totals);
	const { read, write, input, output, cost, outputDollars, misses, missedTokens } = totals;
	const prompt = read + write + input;
	const again = `${short(missedTokens)} tokens billed again, ${formatPrice(totals.missCost)}`;
	return (
		<Section title="So far">
			<Figures
				figures={[
					total === undefined
						? undefined
						: [
								"Total",
								dollars(total),
								<>
									{formatNumberOf(totals.requests, "request")} <MadeUp isShown={hasMadeUpPrices} />
								</>,
							],
					["Prompts", formatPrice(cost), `${short(prompt)} tokens`],
					compared("Compared with pi alone", cost, totals.appendOnlyCost),
					compared("Compared with no cache", cost, totals.noCacheCost),
					[
						"Read from the cache",
						formatShare(prompt > 0 ? read / prompt : 0),
						`${short(read)} of ${short(prompt)} tokens`,
					],
					["Misses", misses, misses === 0 ? "none" : again, misses > 0 ? "bad" : undefined],
					outputDollars === undefined
						? ["Answers", short(output), "tokens"]
						: ["Answers", dollars(outputDollars), `${short(output)} tokens`],
				]}
			/>
		</Section>
	);
}

function compared(name: string, cost: Data<"Price">, other: Data<"Price">): Figure {
	const unit = cost.dollars !== undefined && other.dollars !== undefined ? "dollars" : "tokens";
	const ours = cost[unit] ?? 0;
	const theirs = other[unit] ?? 0;
	const tone = ours < theirs * 0.9995 ? "good" : ours > theirs * 1.0005 ? "bad" : undefined;
	return [name, formatDifference(ours, theirs), `instead of ${formatPrice(other)}`, tone];
}

/** Explains the bill of pi alone, which is hypothetical, and its limits. */
export function piAloneNote(
	totals: Pick<Data<"Cost">["totals"], "requests" | "appendOnlyOverLimit">,
): string {
	const meaning =
		"“Pi alone” means the same requests without pi-strata: append-only, with full texts instead of markers, diffs and stubs.";
	const { requests, appendOnlyOverLimit: over = 0 } = totals;
	if (over === 0) return meaning;
	return `${meaning} ${over} of the ${requests} requests would have exceeded the size at which pi compacts; the comparison does not include compaction.`;
}

const LAYOUTS: Readonly<Record<Data<"Tiers">["layout"], string>> = {
	log: "Files are part of the conversation; changes are appended at its end.",
	tiers: "Files come before the conversation, the most stable first.",
	off: "The working set is empty or turned off.",
};

function WorkingSet({ tiers }: { tiers: Data<"Tiers"> }) {
	const now = useNow();
	const { layout, files, picture } = tiers;
	return (
		<Section title="Working set">
			<p class="soft">{LAYOUTS[layout]}</p>
			{files.length > 0 && (
				<Table
					label="Files of the working set"
					rows={files}
					maxRows={200}
					keyOf={({ path }) => path}
					columns={[
						FILE_COLUMN,
						{ title: "Tier", cell: ({ tier }) => <span class={`tier is-${tier}`}>{tier}</span> },
						["Answers since last change", ({ n }) => formatCount(n), "roomy"],
						["Tokens", ({ tokens }) => short(tokens)],
						["Cache hits", ({ hits }) => formatCount(hits), "roomy"],
						["Changed", ({ lastChangeMs: at }) => (at > 0 ? ago(at, now) : "–"), "soft"],
					]}
				/>
			)}
			{picture !== "" && (
				<Scroller class="prompt-picture" aria-label="Layout of the prompt">
					<pre>{visibleSpans(picture)}</pre>
				</Scroller>
			)}
		</Section>
	);
}

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

function SavingsTable({ savings }: { savings: Data<"Savings"> }) {
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
		["Tokens", savedTokens],
	];
	if (rows.some((row) => row.dollars !== undefined)) {
		const inDollars = (line: Line) => (line.dollars === undefined ? "–" : dollars(line.dollars));
		columns.push(["Dollars", (line) => (line.detail === undefined ? inDollars(line) : "")]);
	}
	return (
		<Section title="Savings by system">
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
