import "./cost.css";
import type { Data } from "../../../protocol/index.ts";
import { useAnswer } from "../../answer.ts";
import {
	dollars,
	formatDifference,
	formatNumberOf,
	formatPrice,
	formatShare,
	short,
} from "../../parts/figures.ts";
import { Answered, Empty } from "../../parts/notices.tsx";
import { hrefOf } from "../../route.ts";
import { isDemo, MadeUp } from "../../session/demo-banner.tsx";
import type { SessionViewProps } from "../../session/open-session.ts";
import { type Figure, Figures, Section } from "../section.tsx";
import { amountOf, Budget, bookPeriod, SavedTable } from "../usage/saved-sums.tsx";
import { CostCharts, MissTable } from "./cost-charts.tsx";
import { SavingsTable } from "./system-savings.tsx";
import { TurnTable } from "./turn-table.tsx";
import { WorkingSet } from "./working-set.tsx";

export function CostView({ sessionId, changes, state }: SessionViewProps) {
	const version = changes.value;
	const hasMadeUpPrices = state.value !== undefined && isDemo(state.value);
	const savings = useAnswer("get_savings", { sessionId }, version);
	const saved = useAnswer("get_saved", { days: 1 }, version);
	const tiers = useAnswer("get_tiers", { sessionId }, version);
	const costs = useAnswer("get_cost", { sessionId }, version);
	// All at once: what comes later would push the rest down.
	const isReady = [costs, savings, saved, tiers].every(
		({ data, error }) => data !== undefined || error !== undefined,
	);
	if (!isReady) return <Empty>Loading…</Empty>;
	return (
		<div class="view">
			<Answered answer={costs}>
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
								saved={saved.data}
								sessionId={sessionId}
								hasMadeUpPrices={hasMadeUpPrices}
							/>
							<CostTotals totals={cost.totals} hasMadeUpPrices={hasMadeUpPrices} />
							<CostCharts cost={cost} hasMadeUpPrices={hasMadeUpPrices} />
							<TurnTable cost={cost} sessionId={sessionId} hasMadeUpPrices={hasMadeUpPrices} />
							<MissTable cost={cost} hasMadeUpPrices={hasMadeUpPrices} />
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
	readonly saved: Data<"Saved"> | undefined;
	readonly sessionId: string;
	readonly hasMadeUpPrices: boolean;
}

/** What pi-strata saved against pi alone: this session in one sentence, then by system, today and in all. */
function Saved({ totals, savings, saved, sessionId, hasMadeUpPrices }: SavedProps) {
	const { cost, appendOnlyCost } = totals;
	const bySystem = sessionSaved(totals, savings);
	const tokens = amountOf({ saved: bySystem }, "")?.tokens ?? 0;
	const amount = savedAmount(cost, appendOnlyCost);
	const others =
		saved && saved.all.requests > 0
			? [bookPeriod("Today", saved.today), bookPeriod("In all", saved.all)]
			: [];
	return (
		<Section
			title="What was saved"
			aside={
				<span class="row">
					<a class="button small" href={hrefOf({ page: "usage" })}>
						Usage of all sessions
					</a>
					<a class="button small" href={hrefOf({ page: "replay", sessionId })}>
						Replay under other policies
					</a>
				</span>
			}
		>
			<p class="headline number">
				<span class={`headline-value ${amount.tone ?? ""}`}>{amount.value}</span>{" "}
				<MadeUp isShown={hasMadeUpPrices && amount.isDollars} /> {amount.words} pi alone
				{tokens > 0 && <span class="soft"> · {short(tokens)} tokens kept out of prompts</span>}
			</p>
			{saved && <Budget saved={saved} />}
			<SavedTable
				periods={[
					{
						name: "This session",
						saved: bySystem,
						isMadeUp: hasMadeUpPrices,
						isPriced: amount.isDollars,
					},
					...others,
				]}
			/>
			<p class="soft small">
				{piAloneNote(totals)}
				{hasMadeUpPrices && " The sums of today and of all sessions, in Usage, leave the demo out."}
			</p>
		</Section>
	);
}

/** By system: dollars from the bills, tokens from the texts that were kept out. */
export function sessionSaved(
	{ saved = {} }: Pick<Totals, "saved">,
	savings: Data<"Savings"> | undefined,
): Data<"SavedSums">["saved"] {
	const systems = (["readCache", "birth", "pruning"] as const).flatMap((system) => {
		const dollars = saved[system]?.dollars ?? 0;
		const tokens = savings?.[system]?.tokens ?? 0;
		return dollars === 0 && tokens === 0 ? [] : [[system, { dollars, tokens }] as const];
	});
	return Object.fromEntries(systems);
}

/** The difference to pi alone. A loss is shown as clearly as a saving. */
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
		<Section title="So far" isMadeUp={hasMadeUpPrices && total !== undefined}>
			<Figures
				figures={[
					total === undefined
						? undefined
						: ["Total", dollars(total), formatNumberOf(totals.requests, "request")],
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
