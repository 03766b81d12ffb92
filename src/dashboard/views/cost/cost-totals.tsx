import type { Cost, Price } from "../../../protocol/index.ts";
import { dollars, short } from "../../parts/figures.ts";
import { formatDifference, formatNumberOf, formatPrice, formatShare } from "../format.ts";
import { Figure, Figures, Section } from "../section.tsx";
import { piAloneNote } from "./pi-alone.ts";

/** The bill in a few figures. */
export function CostTotals({ totals }: { totals: Cost["totals"] }) {
	const { read, write, input, output, cost, outputDollars, misses, missedTokens } = totals;
	const prompt = read + write + input;
	return (
		<Section title="So far">
			<Figures>
				<Figure
					name="Prompts"
					value={formatPrice(cost)}
					note={formatNumberOf(totals.requests, "request")}
				/>
				<Compared name="Against pi alone" cost={cost} other={totals.appendOnlyCost} />
				<Compared name="Against no cache" cost={cost} other={totals.noCacheCost} />
				<Figure
					name="Read from the cache"
					value={formatShare(prompt > 0 ? read / prompt : 0)}
					note={`${short(read)} of ${short(prompt)} tokens`}
				/>
				<Figure
					name="Misses"
					value={misses}
					note={
						misses === 0
							? "none"
							: `${short(missedTokens)} tokens again, ${formatPrice(totals.missCost)}`
					}
					tone={misses > 0 ? "bad" : undefined}
				/>
				<Figure
					name="Answers"
					value={outputDollars === undefined ? short(output) : dollars(outputDollars)}
					note={outputDollars === undefined ? "tokens" : `${short(output)} tokens`}
				/>
			</Figures>
			<p class="soft small">{piAloneNote(totals)}</p>
		</Section>
	);
}

function Compared({ name, cost, other }: { name: string; cost: Price; other: Price }) {
	const unit = cost.dollars !== undefined && other.dollars !== undefined ? "dollars" : "tokens";
	const ours = cost[unit] ?? 0;
	const theirs = other[unit] ?? 0;
	const tone = ours < theirs * 0.9995 ? "good" : ours > theirs * 1.0005 ? "bad" : undefined;
	return (
		<Figure
			name={name}
			value={formatDifference(ours, theirs)}
			note={`instead of ${formatPrice(other)}`}
			tone={tone}
		/>
	);
}
