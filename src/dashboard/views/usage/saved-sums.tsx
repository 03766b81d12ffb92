import "./usage.css";
import type { Data } from "../../../protocol/index.ts";
import {
	dollars,
	dollarsAligned,
	formatNumberOf,
	formatShare,
	short,
} from "../../parts/figures.ts";
import { MadeUp } from "../../session/demo-banner.tsx";
import { type Column, Table } from "../table.tsx";

/** A period, and what systems saved in it. */
interface Period {
	readonly name: string;
	readonly saved: Data<"SavedSums">["saved"];
	readonly isMadeUp?: boolean;
	/** Whether dollars are known. Default: yes. */
	readonly isPriced?: boolean;
}

/** The systems that save tokens of requests. */
const SYSTEMS: Readonly<Record<string, string>> = {
	readCache: "Read cache",
	birth: "Shorter new results (birth)",
	pruning: "Pruning of old results",
};

/** A period of the book. Without any price, only tokens are known. */
export function bookPeriod(name: string, sums: Data<"SavedSums">): Period {
	const isPriced =
		sums.requests > sums.unpriced || Object.values(sums.saved).some((own) => own.dollars !== 0);
	return { name, saved: sums.saved, isPriced };
}

/** What each system saved against pi alone, in dollars and tokens, by period. */
export function SavedTable({ periods }: { periods: readonly Period[] }) {
	const found = new Set(periods.flatMap(({ saved }) => Object.keys(saved)));
	const known = Object.keys(SYSTEMS).filter((system) => found.has(system));
	// Those that this page does not know come last, by their own names.
	const systems = [...new Set([...known, ...found])];
	if (systems.length === 0) return <p class="soft">Nothing was saved yet.</p>;
	const columns = periods.map((period): Column<string> => {
		const { name, isMadeUp = false, isPriced = true } = period;
		const amounts = [...systems, TOGETHER].map((system) => amountOf(period, system));
		const format = dollarsAligned(amounts.map((amount) => amount?.dollars));
		return {
			title: name,
			align: "right",
			...(isMadeUp && isPriced && { mark: <MadeUp isShown /> }),
			cell: (system) => <Amount amount={amountOf(period, system)} {...(isPriced && { format })} />,
		};
	});
	const name: Column<string> = {
		title: "System",
		cell: (system) => (system === TOGETHER ? "Together" : (SYSTEMS[system] ?? system)),
		isRowHeader: true,
		class: "plain",
	};
	return (
		<Table
			label="Saved against pi alone"
			rows={systems}
			keyOf={(system) => system}
			columns={[name, ...columns]}
			foot={TOGETHER}
		/>
	);
}

const TOGETHER = "";

/** Of one system or, for `""`, of all. */
export function amountOf({ saved }: Pick<Period, "saved">, system: string) {
	const own = system === TOGETHER ? Object.values(saved) : [saved[system]];
	const known = own.filter((amount) => amount !== undefined);
	if (known.length === 0) return undefined;
	return {
		tokens: known.reduce((sum, { tokens }) => sum + tokens, 0),
		dollars: known.reduce((sum, amount) => sum + amount.dollars, 0),
	};
}

interface AmountProps {
	readonly amount: { readonly tokens: number; readonly dollars: number } | undefined;
	/** Of dollars; absent if no price is known. */
	format?(amount: number): string;
}

function Amount({ amount, format }: AmountProps) {
	if (!amount) return <span class="soft">–</span>;
	return (
		<>
			{format && <span class={amount.dollars < 0 ? "bad" : ""}>{format(amount.dollars)}</span>}
			<span class="saved-tokens soft small">{short(amount.tokens)} tokens</span>
		</>
	);
}

/** At this share of the budget, its line becomes a warning. */
const WARNING = 0.8;

/** What today cost of the daily budget. A warning from 80 % on; nothing is stopped. */
export function Budget({ saved }: { saved: Data<"Saved"> }) {
	const { budget, today } = saved;
	if (budget === undefined) return null;
	const share = today.dollars / budget;
	const unknown =
		today.unpriced > 0 ? `, and ${formatNumberOf(today.unpriced, "request")} of unknown price` : "";
	const end =
		share >= 1
			? " The budget is used up; nothing is stopped."
			: share >= WARNING
				? " The budget is nearly used up."
				: "";
	return (
		<p class={share >= WARNING ? "notice" : "soft"} role={share >= WARNING ? "status" : undefined}>
			Budget: {dollars(today.dollars)} of {dollars(budget)} spent today ({formatShare(share)})
			{unknown}.{end}
		</p>
	);
}
